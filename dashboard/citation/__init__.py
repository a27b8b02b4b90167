"""What a paper takes from a view: a link that pins the data, the table, a paragraph on methods, references."""
