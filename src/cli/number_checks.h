// Checks of options that take a number, whose messages say what was given and what is allowed.
#pragma once

#include <CLI/CLI.hpp>

namespace ridge::cli {

constexpr int kMostThreads = 4096, kMostInstances = 1024;  // as in a configuration of `ridge serve`

CLI::Validator positive();
CLI::Validator not_negative();
CLI::Validator in_range(double least, double most);
CLI::Validator rows();  // of a run: above 10^9 no machine has memory for them
// Checks each number's text on the command line: decimal, finite, and within 64 bits, to which CLI11 would cut it.
// Empty values of text options are wrong too.
std::string wrong_values(const CLI::App& app);

}  // namespace ridge::cli
