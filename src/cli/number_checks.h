// Checks of options that take a number, whose messages say what was given and what is allowed.
#pragma once

#include <CLI/CLI.hpp>

namespace ridge::cli {

constexpr int kMostThreads = 4096, kMostInstances = 1024;  // as in a configuration of `ridge serve`

CLI::Validator positive();
CLI::Validator not_negative();
CLI::Validator in_range(double least, double most);
CLI::Validator rows();  // of a run: above 10^9 no machine has memory for them
// Of each number's value on the command line: decimal, finite, and not beyond 64 bits, which CLI11 would cut. Values of text that are
// given but empty are wrong too.
std::string wrong_values(const CLI::App& app);

}  // namespace ridge::cli
