"""Background work: jobs in the queue, leases, and the workers that run them.

Features send a `job.Job` to the queue port. `loop` takes jobs on a laptop, a Lambda function
takes them on AWS, and both hand them to `worker.Worker`.
"""
