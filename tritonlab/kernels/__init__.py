"""The course's kernels, one file a chapter: the kernel above, its launcher and cost below."""
