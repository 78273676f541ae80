// Pictures as pixels: the only wrapper of stb's decoder and resizer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge::precision {

struct Picture {
  int width = 0, height = 0;
  int channels = 0;             // 1 grey, 3 RGB
  std::vector<uint8_t> pixels;  // [row, column, channel]
};

// Decodes a JPEG or PNG file into that many channels. Errors: neither, damaged, more than 100 million pixels.
Result<Picture> decode(std::string_view file, int channels);

// Triangle filter, widened when the picture becomes smaller, so that every pixel counts (like Pillow's BILINEAR).
Result<Picture> resized(const Picture& picture, int width, int height);

}  // namespace ridge::precision
