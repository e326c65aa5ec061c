"""Templates of the project that `featuredsl init` writes."""
