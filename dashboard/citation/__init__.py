"""Everything a paper needs to cite a view: a link that pins the data, the table, a paragraph on methods, and references."""
