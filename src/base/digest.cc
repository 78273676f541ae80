#include "base/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>

namespace ridge {
namespace {

constexpr size_t kChunk = 1 << 20;                    // [bytes], a multiple of one step over all lanes
constexpr size_t kLanes = 4;                          // independent chains, so that the multiplications overlap
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, odd (Knuth, TAOCP vol. 3, 6.4)

struct Hash {
  std::array<uint64_t, kLanes> lanes{1, 2, 3, 4};

  void word(size_t lane, uint64_t value) { lanes[lane] = std::rotl((lanes[lane] ^ value) * kMultiplier, 29); }

  // The last piece of a file is padded with zeros; its size, hashed after it, keeps that unambiguous.
  void bytes(const char* data, size_t size) {
    for (size_t at = 0, lane = 0; at < size; at += sizeof(uint64_t), lane = (lane + 1) % kLanes) {
      uint64_t value = 0;
      std::memcpy(&value, data + at, std::min(sizeof value, size - at));
      word(lane, value);
    }
  }

  uint64_t finish() const {
    uint64_t result = 0;
    for (uint64_t lane : lanes) result = (std::rotl(result, 17) ^ lane) * kMultiplier;
    return result ^ (result >> 32);
  }
};

}  // namespace

Result<std::string> digest_files(const std::vector<std::string>& files) {
  Hash hash;
  auto chunk = std::make_unique<std::array<char, kChunk>>();
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Error{Code::kNotFound, "read " + path + ": cannot be opened"};
    uint64_t size = 0;
    while (file.read(chunk->data(), kChunk) || file.gcount() > 0) {
      hash.bytes(chunk->data(), static_cast<size_t>(file.gcount()));
      size += static_cast<uint64_t>(file.gcount());
    }
    if (file.bad()) return Error{Code::kFailed, "read " + path + ": failed"};
    hash.word(0, size);
  }
  return fmt::format("{:016x}", hash.finish());
}

std::string digest_text(std::string_view text) {
  Hash hash;
  hash.bytes(text.data(), text.size());
  hash.word(0, text.size());
  return fmt::format("{:016x}", hash.finish());
}

}  // namespace ridge
