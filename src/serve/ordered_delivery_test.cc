#include "serve/ordered_delivery.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace ridge::serve {
namespace {

TEST(OrderedDelivery, RunsActionsInTheOrderOfTheirTickets) {
  OrderedDelivery delivery;
  std::string text;
  delivery.bring(2, [&] { text += "c"; });
  delivery.bring(1, [&] { text += "b"; });
  EXPECT_EQ(text, "");
  delivery.bring(0, [&] { text += "a"; });
  EXPECT_EQ(text, "abc");
  delivery.bring(3, [&] { text += "d"; });
  EXPECT_EQ(text, "abcd");
}

TEST(OrderedDelivery, KeepsTheOrderAcrossThreads) {
  OrderedDelivery delivery;
  std::vector<uint64_t> seen;  // unguarded: the actions never overlap
  {
    std::vector<std::jthread> threads;
    for (uint64_t first = 0; first < 4; ++first)
      threads.emplace_back([&, first] {
        for (uint64_t ticket = first; ticket < 2000; ticket += 4)
          delivery.bring(ticket, [&seen, ticket] { seen.push_back(ticket); });
      });
  }
  ASSERT_EQ(seen.size(), 2000u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

}  // namespace
}  // namespace ridge::serve
