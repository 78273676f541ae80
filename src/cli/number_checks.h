// Checks of options that take a number, whose messages say what was given and what is allowed.
#pragma once

#include <CLI/CLI.hpp>

namespace ridge::cli {

CLI::Validator positive();
CLI::Validator not_negative();
CLI::Validator in_range(double least, double most);
CLI::Validator rows();  // of a run: above 10^9 no machine has memory for them

}  // namespace ridge::cli
