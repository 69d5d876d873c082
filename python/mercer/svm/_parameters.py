"""The kernel of an estimator: by name, as an object, as a callable, or given as a matrix."""

from typing import Any, ClassVar, TypeVar

from mercer._estimator import Estimator
from mercer._params import check_coef0, check_degree, check_gamma
from mercer._suggest import did_you_mean
from mercer.kernels import RBF, InverseMultiquadric, Laplacian, Linear, Polynomial, Sigmoid
from mercer.kernels._kernel import Kernel
from mercer.svm._sources import KernelFunction

__all__ = ["KERNEL_NAMES", "KernelParameters"]

_Self = TypeVar("_Self", bound="KernelParameters")

KERNEL_NAMES = ("linear", "poly", "rbf", "sigmoid", "laplacian", "imq", "precomputed")

#: What kernels are called in texts, in LIBSVM, e1071, kernlab and R's other packages.
_OTHER_NAMES = {
    "anova": "mercer.kernels.ANOVA()",
    "anovadot": "mercer.kernels.ANOVA()",
    "chi2": "mercer.kernels.ChiSquared()",
    "cosine": "mercer.kernels.Linear().normalized()",
    "gauss": "'rbf'",
    "gaussian": "'rbf'",
    "gram": "'precomputed'",
    "inverse_multiquadric": "'imq'",
    "laplace": "'laplacian'",
    "laplacedot": "'laplacian'",
    "matern": "mercer.kernels.Matern()",
    "matrix": "'precomputed'",
    "periodic": "mercer.kernels.Periodic()",
    "polydot": "'poly'",
    "polynomial": "'poly'",
    "radial": "'rbf'",
    "rbfdot": "'rbf'",
    "squared_exponential": "'rbf'",
    "string": "mercer.kernels.Spectrum()",
    "stringdot": "mercer.kernels.Spectrum()",
    "tanh": "'sigmoid'",
    "tanhdot": "'sigmoid'",
    "vanilladot": "'linear'",
}


class KernelParameters(Estimator):
    """An estimator with the parameters `kernel`, `degree`, `gamma` and `coef0`."""

    kernel: Any
    degree: Any
    gamma: Any
    coef0: Any

    #: Whether `gamma` may be None.
    _gamma_is_optional: ClassVar[bool] = False

    def _check_kernel(self) -> Kernel | str | KernelFunction:
        """Return the kernel asked for if its parameters are allowed, else raise."""
        check_degree(self.degree)
        check_coef0(self.coef0)
        if self.gamma is not None or not self._gamma_is_optional:
            check_gamma(self.gamma)
        return self._given_kernel()

    def _given_kernel(self) -> Kernel | str | KernelFunction:
        """Return the kernel asked for: an object, 'precomputed' or a callable."""
        if isinstance(self.kernel, str) and self.kernel in KERNEL_NAMES:
            return self._named_kernel(self.kernel)
        if isinstance(self.kernel, type) and issubclass(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be an object, not a class: write {self.kernel.__name__}(), "
                f"not {self.kernel.__name__}"
            )
        if isinstance(self.kernel, Kernel) or callable(self.kernel):
            return self.kernel  # type: ignore[no-any-return]
        names = ", ".join(repr(name) for name in KERNEL_NAMES)
        raise (ValueError if isinstance(self.kernel, str) else TypeError)(
            f"kernel must be one of {names}, an object of mercer.kernels or a callable, "
            f"got {self.kernel!r}{did_you_mean(self.kernel, KERNEL_NAMES, _OTHER_NAMES)}"
        )

    def _named_kernel(self, name: str) -> Kernel | str:
        match name:
            case "linear":
                return Linear()
            case "poly":
                return Polynomial(degree=self.degree, gamma=self.gamma, coef0=self.coef0)
            case "rbf":
                return RBF(gamma=self.gamma)
            case "sigmoid":
                return Sigmoid(gamma=self.gamma, coef0=self.coef0)
            case "laplacian":
                return Laplacian(gamma=self.gamma)
            case "imq":
                return InverseMultiquadric()
            case _:
                return name

    def set_params(self: _Self, **params: Any) -> _Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            Names, as `get_params` shows them, and values. ``kernel__gamma`` and the like replace
            the kernel by another one: kernels themselves cannot be changed.

        Returns
        -------
        self : estimator
            This estimator.
        """
        kernel = params.get("kernel", self.kernel)
        nested = [name for name in params if name.startswith("kernel__")]
        if nested and not isinstance(kernel, Kernel):
            raise ValueError(
                f"{nested[0]} cannot be set: kernel={kernel!r} has no parameters of its own. Give "
                "an object of mercer.kernels"
            )
        if nested:
            changes = {name.removeprefix("kernel__"): params.pop(name) for name in nested}
            params["kernel"] = kernel.replace(**changes)
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    @property
    def _model_rows(self) -> Any:
        """The rows a fitted model keeps."""
        return self.support_vectors_
