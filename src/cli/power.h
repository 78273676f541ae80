// The parts of `ridge power`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "power/overview.h"

namespace ridge::cli {

std::string power_text(const power::Overview& overview);

int power_set(std::span<const std::string> arguments);
int power_sweep(std::span<const std::string> arguments);

// Wrong usage if the value was refused (a limit outside the range), else failed.
int power_failed(std::string_view verb, const Error& error);

}  // namespace ridge::cli
