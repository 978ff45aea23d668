"""What is done with real data: files, ledgers, studies, audits."""
