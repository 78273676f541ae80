// The command line of ridge-lab.
#pragma once

#include <span>
#include <string>

namespace ridge::lab {

// `arguments` without the program's name: those of `ridge lab` (docs/cli/lab.md), or "show FILE", a document of it as
// text. Returns an exit status.
int lab(std::span<const std::string> arguments);

}  // namespace ridge::lab
