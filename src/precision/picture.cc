#include "precision/picture.h"

#include <fmt/format.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 65536
#include <stb/stb_image.h>

#if __has_include(<stb/stb_image_resize2.h>)  // Debian 13, which lacks the first version
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#include <stb/stb_image_resize2.h>
#else
// It asserts that a filter's weights add up to 0.9 to 1.1 before it divides by their sum. At many ordinary ratios, as
// 375 → 256 pixels, they do not.
#define STBIR_ASSERT(condition) ((void)0)
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#include <stb/stb_image_resize.h>
#endif

#include <algorithm>
#include <memory>

namespace ridge::precision {
namespace {

constexpr int64_t kMostPixels = 100'000'000;

bool resize(const Picture& from, Picture& to) {
#if defined(STBIR_INCLUDE_STB_IMAGE_RESIZE2_H)
  return stbir_resize(from.pixels.data(), from.width, from.height, 0, to.pixels.data(), to.width, to.height, 0,
                      from.channels == 1 ? STBIR_1CHANNEL : STBIR_RGB, STBIR_TYPE_UINT8, STBIR_EDGE_CLAMP,
                      STBIR_FILTER_TRIANGLE) != nullptr;
#else
  return stbir_resize_uint8_generic(from.pixels.data(), from.width, from.height, 0, to.pixels.data(), to.width,
                                    to.height, 0, from.channels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                                    STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr) != 0;
#endif
}

Picture blank(int width, int height, int channels) {
  const size_t size = static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
  return {width, height, channels, std::vector<uint8_t>(size)};
}

}  // namespace

Result<Picture> decode(std::string_view file, int channels) {
  const auto* bytes = reinterpret_cast<const stbi_uc*>(file.data());
  const int size = static_cast<int>(std::min<size_t>(file.size(), INT32_MAX));
  int width = 0, height = 0, held = 0;
  if (stbi_info_from_memory(bytes, size, &width, &height, &held) == 0)
    return Error{Code::kInvalid, fmt::format("not a JPEG or PNG picture ({})", stbi_failure_reason())};
  if (int64_t{width} * height > kMostPixels)
    return Error{Code::kInvalid, fmt::format("{} × {} pixels are too many", width, height)};
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(bytes, size, &width, &height, &held, channels), stbi_image_free);
  if (!pixels) return Error{Code::kInvalid, fmt::format("damaged picture ({})", stbi_failure_reason())};
  Picture picture = blank(width, height, channels);
  std::copy_n(pixels.get(), picture.pixels.size(), picture.pixels.begin());
  return picture;
}

Result<Picture> resized(const Picture& picture, int width, int height) {
  Picture result = blank(width, height, picture.channels);
  if (!resize(picture, result)) return Error{Code::kExhausted, "not enough memory to resize a picture"};
  return result;
}

}  // namespace ridge::precision
