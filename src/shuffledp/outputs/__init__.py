"""What is handed to others: documents and loss laws."""
