package runner_test

const childEnv = "SELVAGE_RUNNER_CRASH_CHILD"

func crashChild() int { return 1 }
