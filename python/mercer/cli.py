"""The command `mercer`: LIBSVM's tools, on every core.

    mercer train a9a a9a.model && mercer predict a9a.t a9a.model labels

Options, output lines and model files are those of svm-train, svm-predict, svm-scale and grid.py;
rows may be in svmlight's format or CSV. Exit status: 0, or 1 if a file is wrong, 2 if the command
line is, 130 after Ctrl-C.
"""

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM, __version__
from mercer import _tables as tables
from mercer._tables import FileError, Table

_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
_MACHINES: tuple[type[Any], ...] = (SVC, NuSVC, OneClassSVM, SVR, NuSVR)
# What Mercer's own model files are called; any other name is a text file of LIBSVM's.
_OWN = (".mercer", ".safetensors")
_FOLD_SEED = 0

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW = click.Path(dir_okay=False, path_type=Path)


def _rows_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what every command that reads rows has."""
    form = click.Choice(["svmlight", "csv"])
    command = click.option("--target", help="Column of CSV: name or number; the last.")(command)
    return click.option("--format", "form", type=form, help="By default that of the name.")(command)


def _options(*specified: Callable[..., Any]) -> Callable[..., Any]:
    """Return one decorator of many."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(specified):
            command = option(command)
        return command

    return decorate


_machine_options = _options(
    click.option("-s", "kind", type=click.IntRange(0, 4), default=0, metavar="TYPE",
                 help="0 C-SVC, 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR."),
    click.option("-t", "kernel", type=click.IntRange(0, 4), default=2, metavar="KERNEL",
                 help="0 linear, 1 polynomial, 2 RBF, 3 sigmoid, 4 precomputed."),
    click.option("-d", "degree", type=int, default=3, help="Degree of the polynomial."),
    click.option("-g", "gamma", type=float, help="gamma; 1 / number of features."),
    click.option("-r", "coef0", type=float, default=0.0, help="coef0."),
    click.option("-c", "cost", type=float, default=1.0, help="C."),
    click.option("-n", "nu", type=float, default=0.5, help="nu."),
    click.option("-p", "epsilon", type=float, default=0.1, help="Half the width of the tube."),
    click.option("-m", "cache", type=float, help="Cache in MB; what pays."),
    click.option("-e", "tol", type=float, default=1e-3, help="Tolerance."),
    click.option("-h", "shrinking", type=click.IntRange(0, 1), default=1, help="Shrinking."),
    click.option("-b", "probability", type=click.IntRange(0, 1), default=0,
                 help="1 for probabilities."),
    click.option("--weight", "-w", "weights", multiple=True, metavar="LABEL=W",
                 help="Factor of C for a class; -wLABEL W as well."),
    click.option("--max-time", type=float, metavar="S", help="Seconds; then a usable model."),
)  # fmt: skip


@click.group(context_settings={"help_option_names": ["--help"]})
@click.version_option(__version__, prog_name="mercer")
def command() -> None:
    """Support vector machines on every core, with LIBSVM's options and files.

    Rows are in svmlight's format, or CSV with a header or without. Models whose name ends in
    .mercer or .safetensors are Mercer's own, others are LIBSVM's text.
    """


@command.command()
@_machine_options
@click.option("-v", "folds", type=click.IntRange(min=2), help="Cross-validate instead.")
@click.option("-q", "quiet", is_flag=True, help="Print nothing.")
@_rows_options
@click.argument("file", type=_FILE)
@click.argument("model", type=_NEW, required=False)
def train(
    file: Path, model: Path | None, folds: int | None, quiet: bool, form: str | None,
    target: str | None, **options: Any,
) -> None:  # fmt: skip
    """Train on FILE and write MODEL (FILE.model), as svm-train does."""
    table = _rows(file, form, target, options["kernel"] == 4)
    machine = _machine(options, table).set_params(verbose=not quiet and sys.stderr.isatty())
    if folds is not None:
        _cross_validate(machine, table, folds)
        return
    _fit(machine, table)
    if not quiet:
        for line in _training_lines(machine, table.y):
            click.echo(line)
    _save(machine, model or Path(f"{file.name}.model"))


@command.command()
@click.option("-b", "probability", type=click.IntRange(0, 1), default=0, help="1: probabilities.")
@click.option("-q", "quiet", is_flag=True, help="Print nothing.")
@_rows_options
@click.argument("file", type=_FILE)
@click.argument("model", type=_FILE)
@click.argument("output", type=_NEW)
def predict(
    file: Path, model: Path, output: Path, probability: int, quiet: bool, form: str | None,
    target: str | None,
) -> None:  # fmt: skip
    """Predict the rows of FILE by MODEL and write OUTPUT, as svm-predict does."""
    precomputed = not _is_own(model) and "kernel_type precomputed" in model.read_text()[:200]
    table = _rows(file, form, target, precomputed)
    machine = _load(model, table.n_features)
    table = _widened(table, machine.n_features_in_, file)
    predicted = machine.predict(table.X)
    if probability:
        if not getattr(machine, "probability", False):
            raise FileError(f"{model}: the model has no probabilities; train with -b 1")
        lines = _probability_lines(machine, predicted, machine.predict_proba(table.X))
    else:
        lines = (tables.text_of(each) for each in predicted)
    tables.write(output, lines)
    if not quiet:
        for line in _scores(machine, table.y, predicted):
            click.echo(line)


@command.command()
@_machine_options
@click.option("-log2c", "log2c", default="-5,15,2", metavar="BEGIN,END,STEP", help="Costs.")
@click.option("-log2g", "log2g", default="3,-15,-2", metavar="BEGIN,END,STEP", help="Widths.")
@click.option("-v", "folds", type=click.IntRange(min=2), default=5, help="Folds.")
@click.option("-q", "quiet", is_flag=True, help="Print the best only.")
@_rows_options
@click.argument("file", type=_FILE)
@click.argument("model", type=_NEW, required=False)
def grid(
    file: Path, model: Path | None, log2c: str, log2g: str, folds: int, quiet: bool,
    form: str | None, target: str | None, **options: Any,
) -> None:  # fmt: skip
    """Search C and gamma by cross-validation, as grid.py does; train MODEL with the best.

    All costs and folds share the kernel.
    """
    from mercer.model_selection import GridSearchCV

    table = _rows(file, form, target, options["kernel"] == 4)
    machine = _machine(options, table)
    if "C" not in machine.get_params():
        raise click.UsageError("only machines with a cost can be searched: -s 0, 3 or 4")
    parameters = {"C": 2.0 ** _steps(log2c, "-log2c"), "gamma": 2.0 ** _steps(log2g, "-log2g")}
    scoring = "accuracy" if is_classifier(machine) else "neg_mean_squared_error"
    search = GridSearchCV(
        machine, parameters, cv=_split(machine, folds), scoring=scoring, refit=False,
        verbose=int(not quiet and sys.stderr.isatty()),
    )  # fmt: skip
    _warned(search.fit, table.X, table.y)
    rates = search.cv_results_["mean_test_score"] * (100 if is_classifier(machine) else -1)
    best = search.cv_results_["params"][search.best_index_]
    if not quiet:
        for each, rate in zip(search.cv_results_["params"], rates, strict=True):
            click.echo(f"{np.log2(each['C']):g} {np.log2(each['gamma']):g} {rate:g}")
    click.echo(f"{best['C']} {best['gamma']} {rates[search.best_index_]:g}")
    if model is not None:
        _save(_fit(machine.set_params(**best), table), model)


@command.command()
@click.option("-l", "lower", type=float, default=-1.0, help="Lower limit (-1).")
@click.option("-u", "upper", type=float, default=1.0, help="Upper limit (1).")
@click.option("-s", "save", type=_NEW, help="Write the ranges here.")
@click.option("-r", "restore", type=_FILE, help="Take the ranges from here.")
@_rows_options
@click.argument("file", type=_FILE)
@click.argument("output", type=_NEW, required=False)
def scale(
    file: Path, output: Path | None, lower: float, upper: float, save: Path | None,
    restore: Path | None, form: str | None, target: str | None,
) -> None:  # fmt: skip
    """Scale the columns of FILE as svm-scale does, to OUTPUT or to be shown."""
    if save is not None and restore is not None:
        raise click.UsageError("either -s or -r")
    if not lower < upper:
        raise click.UsageError(f"-l must be less than -u, got {lower:g} and {upper:g}")
    table = tables.read(file, form, target)
    if restore is None:
        low, high = (_extreme(table.X, np.min), _extreme(table.X, np.max))
    else:
        lower, upper, low, high = _read_ranges(restore, table.n_features)
    scaled = _scaled(table, (lower, upper), low, high)
    lines = tables.lines(scaled, tables.format_of(file, form))
    if output is None:
        for line in lines:
            click.echo(line)
    else:
        tables.write(output, lines)
    if save is not None:
        tables.write(save, _range_lines(lower, upper, low, high))


@command.command()
@_rows_options
@click.argument("file", type=_FILE)
@click.argument("output", type=_NEW)
def convert(file: Path, output: Path, form: str | None, target: str | None) -> None:
    """Convert rows between svmlight and CSV, or a model between LIBSVM's file and Mercer's."""
    if _is_model(file):
        _save(_load(file, None), output)
        return
    table = tables.read(file, form, target)
    tables.write(output, tables.lines(table, tables.format_of(output, None)))


@command.command()
@_rows_options
@click.argument("file", type=_FILE)
def info(file: Path, form: str | None, target: str | None) -> None:
    """Say what is in a file of rows or in a model."""
    if _is_model(file):
        lines = _model_lines(_load(file, None))
    else:
        lines = _table_lines(tables.read(file, form, target))
    for line in lines:
        click.echo(line)


@command.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def demo(arguments: tuple[str, ...]) -> None:
    """Train on real data beside scikit-learn, as python -m mercer does."""
    from mercer.__main__ import main as demonstration

    demonstration(arguments)


# --- Machines


def _rows(file: Path, form: str | None, target: str | None, precomputed: bool) -> Table:
    """Read rows; of a precomputed kernel, without the serial numbers of LIBSVM's format."""
    svmlight = tables.format_of(file, form) == "svmlight"
    table = tables.read(file, form, target, first=0 if precomputed and svmlight else 1)
    if precomputed and svmlight:
        return Table(table.X[:, 1:].toarray(), table.y)
    return table


def _machine(options: dict[str, Any], table: Table) -> Any:
    """Make the machine that the options ask for."""
    kind = _MACHINES[options["kind"]]
    if options["probability"] and not is_classifier(kind()):
        raise click.UsageError("-b 1 is for classification: -s 0 or 1")
    gamma = options["gamma"]
    parameters = {
        "kernel": _KERNELS[options["kernel"]],
        "degree": options["degree"],
        "gamma": 1.0 / max(table.n_features, 1) if gamma is None else gamma,
        "coef0": options["coef0"],
        "C": options["cost"],
        "nu": options["nu"],
        "epsilon": options["epsilon"],
        "tol": options["tol"],
        "cache_size": "auto" if options["cache"] is None else options["cache"],
        "shrinking": bool(options["shrinking"]),
        "probability": bool(options["probability"]),
        "class_weight": _weights(options["weights"], table.y),
        "max_time": options["max_time"],
    }
    known = kind().get_params()
    return kind(**{name: value for name, value in parameters.items() if name in known})


def _weights(given: Sequence[str], y: NDArray[Any]) -> dict[Any, float] | None:
    """Return class weights by label; labels that do not occur are told, as by svm-train."""
    known = {str(label): label for label in np.unique(y)}
    weights = {}
    for each in given:
        name, equals, number = each.partition("=")
        name = name.removeprefix("+")
        if not equals or not re.fullmatch(r"[\d.]+([eE][+-]?\d+)?", number):
            raise click.UsageError(f"a weight is LABEL=NUMBER, got {each!r}")
        if name not in known:
            click.echo(f"WARNING: class label {name} specified in weight is not found", err=True)
            continue
        weights[known[name]] = float(number)
    return weights or None


def _warned(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call, and print warnings as lines on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*arguments)
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        click.echo(f"WARNING: {text}", err=True)
    return result


def _fit(machine: Any, table: Table) -> Any:
    return _warned(machine.fit, table.X, table.y)


def _split(machine: Any, folds: int) -> Any:
    kind = StratifiedKFold if is_classifier(machine) else KFold
    return kind(folds, shuffle=True, random_state=_FOLD_SEED)


def _cross_validate(machine: Any, table: Table, folds: int) -> None:
    """Print what svm-train -v prints."""
    from mercer.model_selection import cross_val_predict

    if not (is_classifier(machine) or is_regressor(machine)):
        raise click.UsageError("-v is for classification and regression")
    split = _split(machine, folds)
    predicted = _warned(lambda: cross_val_predict(machine, table.X, table.y, cv=split))
    if is_classifier(machine):
        click.echo(f"Cross Validation Accuracy = {100 * np.mean(predicted == table.y):g}%")
        return
    error, correlation = _regression_scores(table.y, predicted)
    click.echo(f"Cross Validation Mean squared error = {error:g}")
    click.echo(f"Cross Validation Squared correlation coefficient = {correlation:g}")


def _widened(table: Table, n_features: int, file: Path) -> Table:
    """Give rows the columns of the model; svmlight leaves out zeros at the end."""
    if table.n_features == n_features or not hasattr(table.X, "indptr"):
        return table
    if table.n_features > n_features:
        raise FileError(
            f"{file}: has {table.n_features} features, the model knows {n_features} only"
        )
    X = table.X.copy()
    X.resize(table.X.shape[0], n_features)
    return Table(X, table.y, table.names)


# --- Model files


def _is_own(path: Path) -> bool:
    return path.suffix.lower() in _OWN


def _is_model(path: Path) -> bool:
    with path.open("rb") as file:
        return _is_own(path) or file.read(9) == b"svm_type "


def _save(machine: Any, path: Path) -> None:
    """Write a model, in the format that its name says."""
    from mercer import io

    with tables.replacing(path) as temporary:
        (io.save if _is_own(path) else io.to_libsvm)(machine, temporary)


def _load(path: Path, n_features: int | None) -> Any:
    """Read a model of either format, LIBSVM's with at least so many features."""
    from mercer import io

    if _is_own(path):
        return io.load(path)
    model = io.from_libsvm(path, sparse=True)
    if n_features is not None and n_features > model.n_features_in_:
        model = io.from_libsvm(path, n_features=n_features, sparse=True)
    return model


# --- Lines that LIBSVM prints


def _coefficients(machine: Any) -> list[tuple[NDArray[np.float64], Any]]:
    """Return the coefficients of each machine, classes one against one, and their bounds.

    Where the bound is not a parameter it is the largest coefficient.
    """
    coef = machine.dual_coef_
    coef = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)
    cost = machine.get_params().get("C")
    if not is_classifier(machine):
        return [(coef[0], np.abs(coef).max() if cost is None else cost)]
    ends = np.cumsum(machine.n_support_)
    parts = [slice(end - n, end) for end, n in zip(ends, machine.n_support_, strict=True)]
    costs = np.repeat(machine.class_weight_ * (cost or 1.0), machine.n_support_)
    made = []
    for i, j in combinations(range(len(parts)), 2):
        beta = np.concatenate([coef[j - 1, parts[i]], coef[i, parts[j]]])
        bounds = np.concatenate([costs[parts[i]], costs[parts[j]]])
        made.append((beta, np.abs(beta).max() if cost is None else bounds))
    return made


def _training_lines(machine: Any, y: NDArray[Any]) -> Iterator[str]:
    """Return what svm-train prints; its C of nu-SVC is left out."""
    offsets = machine.offset_ if isinstance(machine, OneClassSVM) else -machine.intercept_
    counts = [len(y)]
    if is_classifier(machine):
        # The sign of the file: a machine is positive for its first class, of two classes too.
        offsets = -offsets if len(machine.classes_) == 2 else offsets
        counts = [a + b for a, b in combinations([np.sum(y == c) for c in machine.classes_], 2)]
    parts = zip(machine.report_, counts, offsets + 0.0, _coefficients(machine), strict=True)
    for report, count, rho, (beta, bound) in parts:
        size = np.abs(beta)
        yield "*"
        yield f"optimization finished, #iter = {report.iterations}"
        if isinstance(machine, NuSVR):
            yield f"epsilon = {machine.epsilon_:f}"
        elif "C" in machine.get_params() and np.ptp(bound) == 0.0:  # classes weigh the same
            yield f"nu = {size.sum() / (machine.C * count):f}"
        yield f"obj = {report.objective:f}, rho = {rho:f}"
        yield f"nSV = {np.count_nonzero(size)}, nBSV = {np.sum(size >= bound)}"
    if is_classifier(machine):
        yield f"Total nSV = {len(machine.support_)}"


def _probability_lines(
    machine: Any, predicted: NDArray[Any], probabilities: NDArray[np.float64]
) -> Iterator[str]:
    yield " ".join(["labels", *map(tables.text_of, machine.classes_)])
    for label, row in zip(predicted, probabilities, strict=True):
        yield " ".join([tables.text_of(label), *(f"{value:g}" for value in row)])


def _regression_scores(y: NDArray[Any], predicted: NDArray[Any]) -> tuple[float, float]:
    """Return the mean squared error and the squared correlation."""
    error = float(np.mean((predicted - y) ** 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = np.cov(predicted, y, bias=True)
        correlation = covariance[0, 1] ** 2 / (covariance[0, 0] * covariance[1, 1])
    return error, float(correlation)


def _scores(machine: Any, y: NDArray[Any], predicted: NDArray[Any]) -> Iterator[str]:
    """Return what svm-predict prints."""
    if is_regressor(machine):
        error, correlation = _regression_scores(y, predicted)
        yield f"Mean squared error = {error:g} (regression)"
        yield f"Squared correlation coefficient = {correlation:g} (regression)"
    else:
        right = int(np.sum(predicted == y))
        yield f"Accuracy = {100 * right / len(y):g}% ({right}/{len(y)}) (classification)"


# --- Scaling and searching


def _extreme(X: Any, of: Callable[..., Any]) -> NDArray[np.float64]:
    """Return the smallest or largest of each column; zeros that are left out count."""
    if not hasattr(X, "indptr"):
        return np.asarray(of(X, axis=0))
    found = X.min(axis=0) if of is np.min else X.max(axis=0)
    return np.asarray(found.toarray()[0])


def _scaled(
    table: Table, limits: tuple[float, float], low: NDArray[Any], high: NDArray[Any]
) -> Table:
    """Return the rows with every column from low, high to the limits; constant ones become 0."""
    lower, upper = limits
    X = table.X.toarray() if hasattr(table.X, "toarray") else table.X
    with np.errstate(invalid="ignore", divide="ignore"):
        made = lower + (upper - lower) * ((X - low) / (high - low))
    # Exactly, whatever rounding does; a constant column says nothing.
    made = np.where(low == X, lower, np.where(high == X, upper, made))
    return Table(np.where(high > low, made, 0.0), table.y, table.names)


def _range_lines(
    lower: float, upper: float, low: NDArray[Any], high: NDArray[Any]
) -> Iterator[str]:
    """Return the lines of svm-scale's file of ranges."""
    yield "x"
    yield f"{lower:.17g} {upper:.17g}"
    for column, (a, b) in enumerate(zip(low, high, strict=True)):
        if a < b:
            yield f"{column + 1} {a:.17g} {b:.17g}"


def _read_ranges(
    path: Path, n_features: int
) -> tuple[float, float, NDArray[np.float64], NDArray[np.float64]]:
    """Read a file of ranges, svm-scale's too."""
    lines = path.read_text().splitlines()
    low, high = np.zeros(n_features), np.zeros(n_features)
    limits = (-1.0, 1.0)
    for number, line in enumerate(lines, 1):
        try:
            if number == 1:
                if line.strip() != "x":
                    raise ValueError
            elif number == 2:
                lower, upper = map(float, line.split())
                limits = (lower, upper)
            elif line.strip():
                column, a, b = line.split()
                if int(column) <= n_features:
                    low[int(column) - 1], high[int(column) - 1] = float(a), float(b)
        except ValueError as error:
            raise FileError(f"{path}:{number}: not a file of ranges: {line!r}") from error
    return (*limits, low, high)


def _steps(text: str, name: str) -> NDArray[np.float64]:
    """Return the numbers of BEGIN,END,STEP, the end included."""
    try:
        begin, end, step = map(float, text.split(","))
    except ValueError as error:
        raise click.UsageError(f"{name} is BEGIN,END,STEP, got {text!r}") from error
    if step == 0 or (end - begin) / step < 0 or (end - begin) / step > 1e4:
        raise click.UsageError(f"{name}: no steps of {step:g} lead from {begin:g} to {end:g}")
    return begin + step * np.arange(int((end - begin) / step + 1e-9) + 1, dtype=np.float64)


# --- What info tells


def _model_lines(machine: Any) -> Iterator[str]:
    yield f"model: {type(machine).__name__}"
    changed = machine.get_params(deep=False)
    for name in ("kernel", "gamma", "degree", "coef0", "C", "nu", "epsilon", "probability"):
        if name in changed:
            yield f"{name}: {changed[name]}"
    yield f"features: {machine.n_features_in_}"
    if is_classifier(machine):
        yield f"classes: {' '.join(map(tables.text_of, machine.classes_))}"
    if hasattr(machine, "support_"):
        yield f"support vectors: {len(machine.support_)}"


def _table_lines(table: Table) -> Iterator[str]:
    yield f"rows: {len(table.y)}"
    yield f"features: {table.n_features}"
    filled = np.count_nonzero(table.X) if isinstance(table.X, np.ndarray) else table.X.nnz
    yield f"not zero: {filled / max(len(table.y) * table.n_features, 1):.1%}"
    labels, counts = np.unique(table.y, return_counts=True)
    if len(labels) <= 100:
        for label, count in zip(labels, counts, strict=True):
            yield f"target {tables.text_of(label)}: {count}"
    else:
        yield f"targets: {table.y.min():g} to {table.y.max():g}"


# --- The command line


def _arguments(given: Sequence[str]) -> list[str]:
    """Write LIBSVM's -wLABEL WEIGHT as --weight LABEL=WEIGHT."""
    made: list[str] = []
    rest = iter(given)
    for argument in rest:
        if re.fullmatch(r"-w[+-]?[\d.]+", argument):
            made += ["--weight", f"{argument[2:]}={next(rest, '')}"]
        else:
            made.append(argument)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    given = _arguments(sys.argv[1:] if arguments is None else arguments)
    try:
        command.main(given, prog_name="mercer", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as error:
        return int(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("mercer: interrupted", err=True)
        return 130
    except (FileError, OSError, ValueError, TypeError, MemoryError) as error:
        click.echo(f"mercer: {error}", err=True)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
