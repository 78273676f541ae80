// SizeLimit: how long a client's message may be, and the option that sets it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridge::front {

inline constexpr std::string_view kInputSizeOption = "--http-max-input-size";

struct SizeLimit {
  uint64_t bytes = 0;
  std::string_view option = {};  // of static storage; empty: none sets it

  // For the end of a message: "; raise --http-max-input-size", or nothing.
  std::string remedy() const { return option.empty() ? "" : "; raise " + std::string(option); }
};

}  // namespace ridge::front
