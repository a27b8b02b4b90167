"""Human teams."""
