"""Private, outsourced Bayesian optimization for BoTorch."""
