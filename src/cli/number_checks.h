// Checks of options that take a number, whose messages say what was given and what is allowed.
#pragma once

#include <CLI/CLI.hpp>

namespace ridge::cli {

CLI::Validator positive();
CLI::Validator not_negative();

}  // namespace ridge::cli
