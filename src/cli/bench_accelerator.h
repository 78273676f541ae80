// ridge bench device --device opencl:N|cuda:N as text.
#pragma once

#include <string>

#include "limits/accelerator/figure.h"

namespace ridge::cli {

std::string accelerator_text(const limits::accelerator::Measured& measured);

}  // namespace ridge::cli
