"""conjoin model, instance and job: deployed models, what runs of them, and its work."""
