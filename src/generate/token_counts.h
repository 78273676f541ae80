// Which tokens a sequence has so far, for penalties. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace ridge::generate {

struct TokenCounts {
  std::unordered_map<int32_t, int32_t> answer;  // times in the answer; tokens that only the prompt has: 0
  void add_prompt(std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) answer.try_emplace(token, 0);
  }
  void add(int32_t token) { ++answer[token]; }
};

}  // namespace ridge::generate
