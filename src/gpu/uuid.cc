#include "gpu/uuid.h"

#include <fmt/format.h>

namespace ridge::gpu {

std::string uuid_text(const uint8_t (&bytes)[16]) {
  std::string text;
  for (uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  for (size_t dash : {8, 13, 18, 23}) text.insert(dash, "-");
  return text;
}

}  // namespace ridge::gpu
