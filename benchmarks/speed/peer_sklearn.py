"""scikit-learn's Gaussian process, as its user would loop over a pool."""

from __future__ import annotations

from arm import Arm
from problem import KAPPA, NOISE_STD
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel


class Fixed(Arm):
    """Fixed hyperparameters."""

    def regressor(self) -> GaussianProcessRegressor:
        """A regressor that does not optimize."""
        return GaussianProcessRegressor(RBF(self.lengthscale), alpha=NOISE_STD**2, optimizer=None)

    def ask(self, q: int) -> list[int]:
        """A new regressor for each question; scikit-learn has no way to extend one."""
        regressor = self.regressor().fit(self.Z[self.asked], self.values)
        return self.best(*regressor.predict(self.Z, return_std=True), KAPPA)


class Refit(Fixed):
    """An isotropic kernel and its noise, fitted from one start."""

    def regressor(self) -> GaussianProcessRegressor:
        """A regressor that optimizes when it is fitted."""
        return GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(), normalize_y=True)
