// SPDX-License-Identifier: Apache-2.0
#pragma once

// The argument that makes of this program no runner, but a command's first step: it is followed by files, "--" and the
// command.
#define WITH_ENVIRONMENT "--with-environment"

// Before the files: what is there already of the variables that begin with TIMERD_ stays as it is.
#define KEEPING_OWN "--keeping-own"

// Reads variables from files, adds them to the environment, and becomes the command behind "--".
//
// A file whose path begins with '-' may lack. What cannot be read ends the process with its reason on standard error.
_Noreturn void run_with_environment(char **words);
