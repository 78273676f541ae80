#include "serve/traffic.h"

#include <gtest/gtest.h>

#include <map>

namespace ridge::serve {
namespace {

std::map<int64_t, int> shared_out(const Traffic& traffic, uint64_t from, int requests) {
  std::map<int64_t, int> found;
  for (int i = 0; i < requests; ++i) ++found[traffic.version_for({}, from + static_cast<uint64_t>(i))];
  return found;
}

TEST(Traffic, SharesOutByWeightInEveryStretchOfRequests) {
  const Traffic traffic = *parse_traffic("1:95, 2:5");
  for (const uint64_t from : {0U, 1000U, 987'654'321U}) {
    const auto found = shared_out(traffic, from, 100);
    EXPECT_NEAR(found.at(2), 5, 2) << from;
    EXPECT_EQ(found.at(1) + found.at(2), 100);
  }
  EXPECT_NEAR(shared_out(traffic, 0, 100'000).at(2), 5000, 20);
}

TEST(Traffic, AWeightOfZeroGetsNone) {
  EXPECT_EQ(shared_out(*parse_traffic("3:0,7:1"), 0, 1000), (std::map<int64_t, int>{{7, 1000}}));
}

TEST(Traffic, ASequenceStaysWithItsVersion) {
  const Traffic traffic = *parse_traffic("1:1,2:1");
  std::map<int64_t, int> sequences;
  for (uint64_t id = 1; id <= 200; ++id) {
    InferRequest request;
    request.sequence.id = id;
    const int64_t version = traffic.version_for(request, 0);
    for (uint64_t turn = 1; turn < 5; ++turn) EXPECT_EQ(traffic.version_for(request, turn), version);
    ++sequences[version];
  }
  EXPECT_NEAR(sequences[1], 100, 20);
}

TEST(Traffic, WhatIsNoListOfVersionsAndWeightsIsRefused) {
  for (const char* text :
       {"", "1", "1:", "a:1", "0:1", "-1:2", "1:-1", "1:1,", "1:0", "1:0,2:0", "1:1000001", "1:1.5", "1:1;2:1"})
    EXPECT_FALSE(parse_traffic(text)) << text;
  EXPECT_EQ(parse_traffic("1:1,1:2").error().message, "'1:1,1:2': version 1 is given twice");
}

}  // namespace
}  // namespace ridge::serve
