#include "front/body.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <span>
#include <vector>

#include "front/memory_budget.h"

namespace ridge::front {
namespace {

TEST(BodyPool, FreesWhatWasNotUsedForAWhile) {
  BodyPool pool(nullptr);
  const std::vector<std::byte> large(size_t{2} << 20);
  const auto use = [&] {
    const std::shared_ptr<Body> body = pool.take();
    body->start(0);
    body->append(large);
  };
  use();
  pool.tidy();
  EXPECT_GT(pool.take()->capacity(), large.size()) << "kept: it was used";
  pool.tidy();
  pool.tidy();
  EXPECT_EQ(pool.take()->capacity(), 0u);
}

TEST(HttpServer, AlignsTheFirstTensorOfABody) {
  Body body;
  for (size_t header : {0u, 1u, 63u, 64u, 165u}) {
    body.start(header);
    body.append(std::as_bytes(std::span("0123456789", 10)));
    EXPECT_EQ((reinterpret_cast<uintptr_t>(body.data()) + header) % Body::kAlignment, 0u);
  }
}

TEST(MemoryBudget, TakesWhatLiesUnusedBeforeItRefuses) {
  const auto budget = std::make_shared<MemoryBudget>(1 << 20);
  BodyPool bodies(budget);
  auto body = bodies.take();
  body->start(0);
  body->append(std::vector<std::byte>(900'000));
  EXPECT_FALSE(budget->take(500'000));
  body = nullptr;
  EXPECT_TRUE(budget->take(500'000));
}

TEST(MemoryBudget, IsSharedByBodiesAndGivenBack) {
  const auto budget = std::make_shared<MemoryBudget>(8 << 20);
  const std::vector<std::byte> bytes(3 << 20);
  Body first(budget);
  first.start(0);
  first.append(bytes);
  {
    Body second(budget);
    second.start(0);
    EXPECT_THROW(for (int i = 0; i < 3; ++i) second.append(bytes), std::bad_alloc);
  }
  for (int i = 0; i < 2; ++i) {
    Body again(budget);
    again.start(0);
    again.append(bytes);
    EXPECT_EQ(again.size(), bytes.size());
  }
}

}  // namespace
}  // namespace ridge::front
