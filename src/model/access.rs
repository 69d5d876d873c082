//! What all models of kernel machines tell of themselves.

/// Writes the methods of a model with the field `expansion`; the example trains one on `x`.
macro_rules! expansion_access {
    ($model:ident$(<$label:ident>)?, $example:literal) => {
        impl$(<$label>)? $model$(<$label>)? {
            /// Returns the kernel function.
            ///
            /// ```
            /// # use mercer::*;
            /// let x = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
            #[doc = concat!("let model = ", $example, ";")]
            /// assert!(matches!(model.kernel(), Kernel::Rbf { gamma: 0.5 }));
            /// # Ok::<(), mercer::Error>(())
            /// ```
            pub fn kernel(&self) -> &crate::kernel::Kernel {
                self.expansion.kernel()
            }

            /// Returns the support vectors, `None` if the kernel is precomputed.
            ///
            /// ```
            /// # use mercer::*;
            /// let x = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
            #[doc = concat!("let model = ", $example, ";")]
            /// let vectors = model.support_vectors().expect("the kernel is not precomputed");
            /// assert!(vectors.rows() > 0 && vectors.columns() == 1);
            /// # Ok::<(), mercer::Error>(())
            /// ```
            pub fn support_vectors(&self) -> Option<&crate::data::Samples> {
                self.expansion.support_vectors()
            }

            #[cfg(feature = "persist")]
            pub(crate) fn kept(&self) -> Option<crate::model::expansion::Kept> {
                self.expansion.kept()
            }
        }
    };
}
