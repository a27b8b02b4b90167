"""Search methods that guess an answer from a text, used for the bundled dataset Pyramid and the writer's desk."""
