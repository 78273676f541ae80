// Tests the check of attention at the sizes of a GPU: kernels are played here, as they round, right and with mistakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "lab/device.h"
#include "lab/experiments/all.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kWidth = 64, kTileOfKeys = 64, kPlayedRows = 24;  // of the rows that are compared
enum class Mistake { kNone, kTileLeftOut, kTileOfAnother, kNotRescaled, kRowUnwritten };
enum class PlayedFormat { kFp32, kFp16, kBf16 };

PlayedFormat format_of(const Case& work) {
  return work.title.starts_with("FP16")   ? PlayedFormat::kFp16
         : work.title.starts_with("BF16") ? PlayedFormat::kBf16
                                          : PlayedFormat::kFp32;
}

double rounded(double value, PlayedFormat format) {
  if (format == PlayedFormat::kFp16) return from_fp16(to_fp16(value));
  return format == PlayedFormat::kBf16 ? from_bf16(to_bf16(static_cast<float>(value))) : value;
}

std::vector<float> values_of(const std::vector<float>& words, PlayedFormat format) {
  if (format == PlayedFormat::kFp32) return words;
  std::vector<float> values;
  for (float word : words)
    for (const auto bits = std::bit_cast<uint32_t>(word); const auto half : {bits & 0xFFFF, bits >> 16})
      values.push_back(format == PlayedFormat::kFp16 ? from_fp16(static_cast<uint16_t>(half))
                                                     : from_bf16(static_cast<uint16_t>(half)));
  return values;
}

// Leaves what the reference says, but for one head, which it computes as the variant that ran would, with the mistake.
class PlayedAttention : public PreparedCase {
 public:
  PlayedAttention(const Case& work, size_t count)
      : work_(work),
        count_(count),
        format_(format_of(work)),
        q_(values_of(work.buffers[0], format_)),
        k_(values_of(work.buffers[1], format_)),
        v_(values_of(work.buffers[2], format_)) {}

  Result<double> seconds(const Variant& variant, int) override {
    variant_ = &variant - work_.variants.data();
    return 0.001;
  }
  Status put(size_t, std::span<const float>) override { return {}; }
  Status get(size_t, std::span<float> content) override {
    for (size_t i = 0; i < content.size(); ++i) {
      const double expected = work_.expected[0](work_.buffers, i);
      content[i] = std::isnan(expected) ? 0 : static_cast<float>(expected);
    }
    for (size_t row = head * count_, played = 0; row < (head + 1) * count_ && played < kPlayedRows; ++row)
      if (!std::isnan(work_.expected[0](work_.buffers, row * kWidth)))
        ++played, compute(row, content.subspan(row * kWidth, kWidth));
      else if (mistake == Mistake::kRowUnwritten)
        content[row * kWidth + 5] = std::numeric_limits<float>::quiet_NaN();
    return {};
  }

  size_t head = 0;
  Mistake mistake = Mistake::kNone;

 private:
  void compute(size_t row, std::span<float> out) const {
    const bool table = variant_ == 0, tensor = variant_ == 2;
    const size_t first = head * count_;
    std::vector<double> scores(count_), sums(kWidth);
    for (size_t key = 0; key < count_; ++key) {
      float score = 0;
      for (size_t i = 0; i < kWidth; ++i) score += q_[row * kWidth + i] * k_[(first + key) * kWidth + i];
      scores[key] = table ? rounded(score / 8, format_) : score / 8;
    }
    const double largest = std::ranges::max(scores);
    double most = table ? largest : -std::numeric_limits<double>::infinity(), total = 0, whole = 0;
    for (const double score : scores) whole += std::exp(score - largest);
    for (size_t tile = 0; tile < count_; tile += kTileOfKeys) {
      const bool wrong = tile == count_ / 2;
      if (wrong && mistake == Mistake::kTileLeftOut) continue;
      const auto of_tile = std::span(scores).subspan(tile, kTileOfKeys);
      const double now = std::max(most, std::ranges::max(of_tile)), down = std::exp(most - now);
      most = now;
      total *= down;
      for (double& sum : sums)
        if (mistake != Mistake::kNotRescaled || tile != kTileOfKeys) sum *= down;
      const size_t values = wrong && mistake == Mistake::kTileOfAnother ? tile - kTileOfKeys : tile;
      for (size_t key = 0; key < kTileOfKeys; ++key) {
        double weight = std::exp(of_tile[key] - most);
        total += weight;
        if (table) weight = rounded(weight / whole, format_);
        if (tensor) weight = rounded(weight, format_);
        for (size_t i = 0; i < kWidth; ++i) sums[i] += weight * v_[(first + values + key) * kWidth + i];
      }
    }
    for (size_t i = 0; i < kWidth; ++i) out[i] = static_cast<float>(table ? sums[i] : sums[i] / total);
  }

  const Case& work_;
  size_t count_;
  PlayedFormat format_;
  std::vector<float> q_, k_, v_;
  ptrdiff_t variant_ = 0;
};

// The longest of the shapes for GPUs, one per format: there one tile counts least.
std::vector<Case> longest_cases() {
  Target gpu;
  gpu.architecture = 90;
  std::vector<Case> all = attention_cases(gpu), halves = attention_half_cases(gpu);
  std::ranges::move(halves, std::back_inserter(all));
  std::erase_if(all, [](const Case& work) {
    const bool single = format_of(work) == PlayedFormat::kFp32;
    return work.title.find(single ? "2048" : "4096") == std::string::npos;
  });
  return all;
}

TEST(AttentionCheck, FindsMistakesInAnyHeadOfEveryFormatAndPassesRounding) {
  const std::vector<Case> cases = longest_cases();
  ASSERT_EQ(cases.size(), 3u);
  for (Case work : cases) {
    work.fill(work);
    const size_t count = work.title.find("4096") == std::string::npos ? 2048 : 4096, heads = count == 4096 ? 8 : 16;
    PlayedAttention played(work, count);
    const std::vector<Variant> variants = work.variants;
    for (size_t i = 0; i < variants.size(); ++i) {
      work.variants = variants;
      for (size_t other = 0; other < variants.size(); ++other) work.variants[other].limit = other != i;
      played.head = i == 0 ? 0 : i == 1 ? heads / 2 + 1 : heads - 1;
      for (const Mistake mistake : {Mistake::kNone, Mistake::kTileLeftOut, Mistake::kTileOfAnother,
                                    Mistake::kNotRescaled, Mistake::kRowUnwritten}) {
        if (i == 0 && mistake == Mistake::kNotRescaled) continue;  // a table has nothing to rescale
        played.mistake = mistake;
        const Status checked = check(played, work);
        EXPECT_EQ(static_cast<bool>(checked), mistake == Mistake::kNone)
            << work.title << ", " << variants[i].name << ", mistake " << static_cast<int>(mistake)
            << (checked ? "" : ": " + checked.error().message);
      }
    }
  }
}

}  // namespace
}  // namespace ridge::lab::experiments
