// A digest of contents, to recognise a model seen before. Fast, not cryptographic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge {

// Hashes contents and their sizes, one after the other. A plain value: a copy continues from the original's state. One thread.
class Digest {
 public:
  // Pieces of one content in order; each but its last has a multiple of kStep bytes.
  static constexpr size_t kStep = 32;
  void add(std::string_view piece);
  void end_content();
  std::string text() const;  // 16 hexadecimal digits

 private:
  static constexpr size_t kLanes = 4;  // independent chains, so that the multiplications overlap
  void add_word(size_t lane, uint64_t value);

  std::array<uint64_t, kLanes> lanes_{1, 2, 3, 4};
  uint64_t size_ = 0;
};

// Adds the contents of `files`, in order. About memory speed.
Status add_files(const std::vector<std::string>& files, Digest& digest);
Result<std::string> digest_files(const std::vector<std::string>& files);
// The same of text in memory.
std::string digest_text(std::string_view text);

}  // namespace ridge
