#include "base/random.h"

#include <gtest/gtest.h>

namespace ridge {
namespace {

// The first numbers of java.util.SplittableRandom's algorithm with seed 1234567, as published with its C version
// (prng.di.unimi.it/splitmix64.c; Rosetta Code, "Pseudo-random numbers/Splitmix64").
TEST(Random, IsThePublishedSequence) {
  constexpr uint64_t kSeed = 1234567;
  EXPECT_EQ(split_mix(kSeed + kGoldenGamma), 6457827717110365317U);
  EXPECT_EQ(split_mix(kSeed + 2 * kGoldenGamma), 3203168211198807973U);
  EXPECT_EQ(split_mix(kSeed + 3 * kGoldenGamma), 9817491932198370423U);
}

}  // namespace
}  // namespace ridge
