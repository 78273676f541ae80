// The text form of a device's UUID.
#pragma once

#include <cstdint>
#include <string>

namespace ridge::gpu {

// RFC 9562, section 4: 32 hexadecimal digits in groups of 8-4-4-4-12.
std::string uuid_text(const uint8_t (&bytes)[16]);

}  // namespace ridge::gpu
