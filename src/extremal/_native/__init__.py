"""The compiled loops: C sources, and the module that loads the library made of them."""
