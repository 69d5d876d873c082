//! The attributes of every estimator that files can hold: what they are, their shapes and ranges.
//!
//! Shapes are written in letters. A letter stands for one number throughout a model: `c` for its
//! classes, `d` for its features, `m` for its machines, `n` for the rows it keeps, `s` for its support
//! vectors.

use Kind::{
    AnyNumbers, Anything, Count, Flag, Histories, Kernel, Labels, Model, Number, NumberOrNone,
    Numbers, Report, Rows, Shape, Strategy, Targets, Whole,
};

/// What an attribute may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A fitted kernel.
    Kernel,
    /// Rows that a model keeps: dense, sparse, none for a precomputed kernel, or sequences.
    Rows(&'static str),
    /// Finite numbers of this shape; a matrix may be sparse.
    Numbers(&'static [&'static str]),
    /// Numbers of this shape.
    AnyNumbers(&'static [&'static str]),
    /// A finite number for each of so many rows, or several.
    Targets(&'static str),
    /// Whole numbers of this shape, from 0 on and below a letter's number, unless that is "".
    Whole(&'static [&'static str], &'static str),
    /// Labels in order, each once.
    Labels(&'static str),
    /// Names of features.
    Names,
    Number,
    NumberOrNone,
    Count,
    Flag,
    /// How several classes are decided.
    Strategy,
    /// What solvers did.
    Report,
    /// The shape of the training set.
    Shape,
    /// Epochs of one machine or of several.
    Histories,
    /// Another model, of this estimator.
    Model(&'static str),
    /// Any value, to be looked at and nothing more.
    Anything,
}

/// An attribute of an estimator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    pub name: &'static str,
    pub kind: Kind,
    pub optional: bool,
}

const fn has(name: &'static str, kind: Kind) -> Attribute {
    let optional = false;
    Attribute {
        name,
        kind,
        optional,
    }
}

const fn may(name: &'static str, kind: Kind) -> Attribute {
    let optional = true;
    Attribute {
        name,
        kind,
        optional,
    }
}

const FEATURES: &[Attribute] = &[
    may("n_features_in_", Count),
    may("feature_names_in_", Kind::Names),
];

const MACHINE: &[Attribute] = &[
    has("kernel", Kernel),
    has("support_", Whole(&["s"], "")),
    has("n_support_", Whole(&["c"], "")),
    has("support_vectors_", Rows("s")),
    has("dual_coef_", Numbers(&["h", "s"])),
    has("shape_fit_", Shape),
    has("fit_status_", Count),
    has("report_", Report),
    may("history_", Histories),
];

const CLASSIFIER: &[Attribute] = &[
    has("classes_", Labels("c")),
    may("class_weight_", Numbers(&["c"])),
    has("multiclass", Strategy),
    has("intercept_", Numbers(&["m"])),
    has("n_iter_", Whole(&["m"], "")),
    may("probA_", Numbers(&["m"])),
    may("probB_", Numbers(&["m"])),
];

const NU: &[Attribute] = &[may("nu_", Numbers(&["m"]))];

const REGRESSOR: &[Attribute] = &[has("intercept_", Numbers(&["m"])), has("n_iter_", Count)];

const TUBE: &[Attribute] = &[may("epsilon_", Number)];

const PLANE: &[Attribute] = &[has("offset_", Numbers(&["1"])), has("n_iter_", Count)];

const SPHERE: &[Attribute] = &[
    has("offset_", Numbers(&["1"])),
    has("intercept_", Numbers(&["1"])),
    has("diagonal", NumberOrNone),
    has("n_iter_", Count),
];

const LINEAR_CLASSIFIER: &[Attribute] = &[
    has("classes_", Labels("c")),
    has("coef_", Numbers(&["m", "d"])),
    has("intercept_", Numbers(&["m"])),
    has("report_", Report),
    has("n_iter_", Count),
];

const LINEAR_REGRESSOR: &[Attribute] = &[
    has("coef_", Numbers(&["d"])),
    has("intercept_", Numbers(&["1"])),
    has("report_", Report),
    has("n_iter_", Count),
];

const IN_FEATURE_SPACE: &[Attribute] = &[
    has("kernel", Kernel),
    has("X_fit_", Rows("n")),
    has("columns", Whole(&["n"], "")),
];

const COMPONENTS: &[Attribute] = &[
    has("eigenvalues_", Numbers(&["k"])),
    has("eigenvectors_", Numbers(&["n", "k"])),
    has("coefficients", Numbers(&["k", "n"])),
    has("intercept", Numbers(&["k"])),
    has("shares", Numbers(&["n"])),
    has("roots", Numbers(&["n"])),
    has("all_kept", Flag),
    has("gamma_", NumberOrNone),
    may("X_transformed_fit_", Numbers(&["n", "k"])),
    may("dual_coef_", Numbers(&["n", "d"])),
];

const SOURCES: &[Attribute] = &[
    has("n_basis_", Count),
    has("autocorrelations_", Numbers(&["k", "l"])),
    has("dual_coef_", Numbers(&["k", "n"])),
    has("intercept_", Numbers(&["k"])),
];

const DISCRIMINANTS: &[Attribute] = &[
    has("classes_", Labels("c")),
    has("priors_", Numbers(&["c"])),
    has("reg_", Number),
    has("reg_path_", AnyNumbers(&["t", "2"])),
    has("means_", Numbers(&["c", "k"])),
    has("eigenvalues_", Numbers(&["k"])),
    has("explained_variance_ratio_", Numbers(&["k"])),
    has("dual_coef_", Numbers(&["k", "n"])),
    has("intercept_", Numbers(&["k"])),
    may("landmarks_", Whole(&["n"], "")),
];

const CLUSTERS: &[Attribute] = &[
    has("dual_coef_", Numbers(&["k", "n"])),
    has("norms", Numbers(&["k"])),
    has("inertia_", Number),
    has("n_iter_", Count),
    has("labels_", Whole(&["r"], "k")),
];

const NEIGHBORS: &[Attribute] = &[
    has("kernel", Kernel),
    has("support_", Whole(&["n"], "")),
    has("X_fit_", Rows("n")),
];

const VOTES: &[Attribute] = &[
    has("classes_", Labels("c")),
    has("numbers", Whole(&["n"], "c")),
    may("prototypes_", Model("SVC")),
];

const MEANS: &[Attribute] = &[
    has("values", Targets("n")),
    may("prototypes_", Model("SVR")),
];

const KEPT: &[Attribute] = &[
    has("kernel", Kernel),
    has("row_numbers", Whole(&["n"], "")),
    has("rows", Rows("n")),
];

const RELEVANCE: &[Attribute] = &[
    has("relevance_", Whole(&["n"], "")),
    has("relevance_vectors_", Rows("n")),
    has("n_iter_", Count),
];

const RVC: &[Attribute] = &[
    has("classes_", Labels("c")),
    has("dual_coef_", Numbers(&["m", "n"])),
    has("intercept_", Numbers(&["m"])),
    has("sigma_", Anything),
    has("log_marginal_likelihood_", AnyNumbers(&["m"])),
];

const RVR: &[Attribute] = &[
    has("dual_coef_", Numbers(&["n"])),
    has("intercept_", Number),
    has("places", Whole(&["p"], "n+1")),
    has("alpha_", AnyNumbers(&["p"])),
    has("sigma_", Numbers(&["p", "p"])),
    has("noise_", Number),
    has("log_marginal_likelihood_", Number),
];

const BAYES_POINT: &[Attribute] = &[
    has("classes_", Labels("c")),
    has("support_", Whole(&["n"], "")),
    has("support_vectors_", Rows("n")),
    has("dual_coef_", Numbers(&["m", "n"])),
    has("intercept_", Numbers(&["m"])),
    has("n_iter_", Count),
];

const MERCER_MAP: &[Attribute] = &[
    has("eigenvalues_", Numbers(&["k"])),
    has("components_", Numbers(&["n", "k"])),
    has("X_fit_", Rows("n")),
];

const SAMPLER: &[Attribute] = &[
    has("estimator_", Model("SVC")),
    has("classes_", Labels("c")),
    has("n_labels_", Count),
    has("stop_", Flag),
    has("history_", Anything),
    has("taught", Anything),
    has("labels", Anything),
    may("inside", Count),
];

/// Every estimator, and its attributes in parts that several have.
const ESTIMATORS: &[(&str, &[&[Attribute]])] = &[
    ("SVC", &[FEATURES, CLASSIFIER, MACHINE]),
    ("Perceptron", &[FEATURES, CLASSIFIER, MACHINE]),
    ("NuSVC", &[FEATURES, CLASSIFIER, MACHINE, NU]),
    ("SVR", &[FEATURES, MACHINE, REGRESSOR]),
    ("NuSVR", &[FEATURES, MACHINE, REGRESSOR, TUBE]),
    ("OneClassSVM", &[FEATURES, MACHINE, PLANE]),
    ("SVDD", &[FEATURES, MACHINE, SPHERE]),
    ("LinearSVC", &[FEATURES, LINEAR_CLASSIFIER]),
    ("LinearSVR", &[FEATURES, LINEAR_REGRESSOR]),
    ("KernelPCA", &[FEATURES, IN_FEATURE_SPACE, COMPONENTS]),
    ("KernelICA", &[FEATURES, IN_FEATURE_SPACE, SOURCES]),
    (
        "KernelFisherDiscriminant",
        &[FEATURES, IN_FEATURE_SPACE, DISCRIMINANTS],
    ),
    ("KernelKMeans", &[FEATURES, IN_FEATURE_SPACE, CLUSTERS]),
    ("KernelNeighborsClassifier", &[FEATURES, VOTES, NEIGHBORS]),
    ("KernelNeighborsRegressor", &[FEATURES, NEIGHBORS, MEANS]),
    ("RVC", &[FEATURES, KEPT, RELEVANCE, RVC]),
    ("RVR", &[FEATURES, KEPT, RELEVANCE, RVR]),
    ("BayesPointClassifier", &[FEATURES, KEPT, BAYES_POINT]),
    ("MercerMap", &[FEATURES, KEPT, MERCER_MAP]),
    ("SelectiveSampler", &[FEATURES, SAMPLER]),
];

/// Returns the names of all estimators.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ESTIMATORS.iter().map(|(name, _)| *name)
}

/// Returns the attributes of an estimator, `None` if files cannot hold it.
pub(super) fn of(estimator: &str) -> Option<impl Iterator<Item = &'static Attribute>> {
    let (_, parts) = ESTIMATORS.iter().find(|(name, _)| *name == estimator)?;
    Some(parts.iter().copied().flatten())
}

/// Returns the names of the attributes of an estimator that a file holds, `None` if it holds none of
/// this kind.
#[cfg(feature = "python")]
pub(crate) fn attributes(estimator: &str) -> Option<Vec<&'static str>> {
    Some(of(estimator)?.map(|attribute| attribute.name).collect())
}
