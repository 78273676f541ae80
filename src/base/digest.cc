#include "base/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "base/file.h"

namespace ridge {
namespace {

constexpr size_t kChunk = 1 << 20;                    // [bytes], a multiple of Digest::kStep
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, odd (Knuth, TAOCP vol. 3, 6.4)

}  // namespace

void Digest::add_word(size_t lane, uint64_t value) {
  lanes_[lane] = std::rotl((lanes_[lane] ^ value) * kMultiplier, 29);
}

// The last piece is padded with zeros; the size, hashed after it, keeps it unambiguous.
void Digest::add(std::string_view piece) {
  for (size_t at = 0, lane = 0; at < piece.size(); at += sizeof(uint64_t), lane = (lane + 1) % kLanes) {
    uint64_t value = 0;
    std::memcpy(&value, piece.data() + at, std::min(sizeof value, piece.size() - at));
    add_word(lane, value);
  }
  size_ += piece.size();
}

void Digest::end_content() {
  add_word(0, size_);
  size_ = 0;
}

std::string Digest::text() const {
  uint64_t result = 0;
  for (uint64_t lane : lanes_) result = (std::rotl(result, 17) ^ lane) * kMultiplier;
  return fmt::format("{:016x}", result ^ (result >> 32));
}

Status add_files(const std::vector<std::string>& files, Digest& digest) {
  std::string chunk(kChunk, '\0');
  for (const std::string& path : files) {
    RIDGE_TRY(open_regular_file(path));
    std::ifstream file(path, std::ios::binary);
    if (!file) return Error{Code::kNotFound, "read " + path + ": cannot be opened"};
    while (file.read(chunk.data(), kChunk) || file.gcount() > 0)
      digest.add(std::string_view(chunk.data(), static_cast<size_t>(file.gcount())));
    if (file.bad()) return Error{Code::kFailed, "read " + path + ": failed"};
    digest.end_content();
  }
  return {};
}

Result<std::string> digest_files(const std::vector<std::string>& files) {
  Digest digest;
  RIDGE_TRY(add_files(files, digest));
  return digest.text();
}

std::string digest_text(std::string_view text) {
  Digest digest;
  digest.add(text);
  digest.end_content();
  return digest.text();
}

}  // namespace ridge
