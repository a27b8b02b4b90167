"""Search methods that guess from a text: those of the bundled dataset Pyramid and of the writer's desk."""
