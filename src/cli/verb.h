// A verb of the command line: parses its own arguments, calls the stages, renders. One file per verb.
#pragma once

#include <span>
#include <string>

namespace ridge::cli {

// Exit statuses of the program (docs/cli): the contract with scripts.
enum Exit { kDone = 0, kNo = 1, kUsage = 2, kFailed = 3 };

// `arguments` without program name and verb. Returns an Exit.
using Verb = int (*)(std::span<const std::string> arguments);

int bench(std::span<const std::string> arguments);
int compare(std::span<const std::string> arguments);
int completion(std::span<const std::string> arguments);
int describe(std::span<const std::string> arguments);
int doctor(std::span<const std::string> arguments);
int explain(std::span<const std::string> arguments);
int gpus(std::span<const std::string> arguments);
int history(std::span<const std::string> arguments);
int lab(std::span<const std::string> arguments);
int make(std::span<const std::string> arguments);
int plan(std::span<const std::string> arguments);
int power(std::span<const std::string> arguments);
int serve(std::span<const std::string> arguments);
int show(std::span<const std::string> arguments);
int size(std::span<const std::string> arguments);
int tune(std::span<const std::string> arguments);

}  // namespace ridge::cli
