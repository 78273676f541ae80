// Ids of traces and spans: random, 32 and 16 hexadecimal digits. Thread-safe.
#pragma once

#include <string>

namespace ridge::front {

std::string new_trace_id();
std::string new_span_id();

}  // namespace ridge::front
