#include "serve/region_table.h"

#include <gtest/gtest.h>

#include "serve/system_region.h"
#include "serve/test_region.h"

namespace ridge::serve {
namespace {

class RegionTableTest : public testing::Test {
 protected:
  static Result<std::shared_ptr<Region>> no_gpu(const RegionRequest&) { return Error{Code::kUnsupported, "no GPU"}; }
  std::string refusal(RegionRequest request) {
    Status added = table_.add(std::move(request));
    return added ? "" : added.error().message;
  }
  // The message of bind(), empty = found.
  std::string bind(const SharedMemoryView& part, DataType type = DataType::kFp32) {
    request_ = {};
    request_.inputs.push_back({.name = "x", .type = type, .shape = {2}, .data = {}, .part = part});
    Status bound = table_.bind(request_);
    return bound ? "" : bound.error().message;
  }

  RegionTable table_{no_gpu};
  InferRequest request_;
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(RegionTableTest, ListsWhatWasRegisteredUntilItIsNot) {
  TestObject object(64);
  EXPECT_EQ(refusal(object.as("b")), "");
  EXPECT_EQ(refusal(object.as("a", 16)), "");
  auto all = table_.list(RegionKind::kSystem, "");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].name, "a");
  EXPECT_EQ((*all)[0].offset, 16u);
  EXPECT_EQ((*all)[0].byte_size, 48u);
  EXPECT_EQ((*all)[0].key, object.key());
  EXPECT_EQ(table_.list(RegionKind::kCuda, "")->size(), 0u);
  EXPECT_EQ(table_.list(RegionKind::kSystem, "b")->size(), 1u);
  table_.remove(RegionKind::kCuda, "b");
  EXPECT_EQ(table_.list(RegionKind::kSystem, "")->size(), 2u) << "of another kind";
  table_.remove(RegionKind::kSystem, "b");
  table_.remove(RegionKind::kSystem, "b");
  auto gone = table_.list(RegionKind::kSystem, "b");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::kNotFound);
  table_.remove(RegionKind::kSystem, "");
  EXPECT_EQ(table_.list(RegionKind::kSystem, "")->size(), 0u);
}

TEST_F(RegionTableTest, ANameIsTakenUntilItIsUnregistered) {
  TestObject object(64);
  EXPECT_EQ(refusal(object.as("a")), "");
  EXPECT_TRUE(says(refusal(object.as("a")), "already in manager"));
  RegionRequest gpu{.kind = RegionKind::kCuda, .name = "a", .byte_size = 8};
  EXPECT_TRUE(says(refusal(gpu), "already in manager")) << "both kinds share one set of names";
  EXPECT_EQ(bind({"a", 0, 8}), "");
  table_.remove(RegionKind::kSystem, "a");
  EXPECT_EQ(refusal(object.as("a")), "") << "though a request still uses the old one";
}

TEST_F(RegionTableTest, RefusesKeysThatLeadElsewhere) {
  TestObject object(64);
  for (const std::string& key :
       {std::string(), std::string("/"), std::string("//a"), std::string("."), std::string("/.."),
        std::string("/../etc/passwd"), std::string("a/b"), std::string("a\0b", 3), std::string(256, 'k'),
        std::string("/sem.lock"), std::string("/triton_python_backend_shm_region_1")}) {
    RegionRequest request = object.as("r");
    request.key = key;
    EXPECT_TRUE(says(refusal(request), "invalid shm key")) << key;
  }
  RegionRequest bare = object.as("bare");
  bare.key = bare.key.substr(1);
  EXPECT_EQ(refusal(bare), "") << "the slash in front may be left out";
}

TEST_F(RegionTableTest, RefusesWhatTheObjectDoesNotHold) {
  TestObject object(64);
  EXPECT_TRUE(says(refusal({.name = "r", .byte_size = 8, .key = "/ridge-test-nothing"}), "Unable to open"));
  for (auto [offset, size] : std::vector<std::pair<uint64_t, uint64_t>>{{0, 65},
                                                                        {1, 64},
                                                                        {65, 1},
                                                                        {UINT64_MAX, 2},
                                                                        {2, UINT64_MAX},
                                                                        {UINT64_MAX, UINT64_MAX},
                                                                        {0, uint64_t{1} << 60}}) {
    RegionRequest request = object.as("r");
    request.offset = offset;
    request.byte_size = size;
    EXPECT_TRUE(says(refusal(request), "invalid args")) << offset << " " << size;
  }
  RegionRequest nothing = object.as("r");
  nothing.byte_size = 0;
  EXPECT_TRUE(says(refusal(nothing), "byte_size must be above 0"));
  EXPECT_TRUE(says(refusal(object.as("")), "'region name' is necessary"));
}

TEST_F(RegionTableTest, FindsPartsOfARegionThatBeginsAnywhere) {
  TestObject object(64);
  object.write({1, 2, 3, 4}, 20);
  ASSERT_EQ(refusal(object.as("r", 20)), "");
  EXPECT_EQ(bind({"r", 4, 8}), "");
  float values[2];
  ASSERT_EQ(request_.inputs[0].data.size(), sizeof values);
  std::memcpy(values, request_.inputs[0].data.data(), sizeof values);
  EXPECT_EQ(values[0], 2);
  EXPECT_EQ(values[1], 3);
  EXPECT_EQ(bind({"r", 44, 0}), "") << "nothing, at the end";
}

TEST_F(RegionTableTest, RefusesPartsThatDoNotLieInTheirRegion) {
  TestObject object(64);
  ASSERT_EQ(refusal(object.as("r")), "");
  EXPECT_TRUE(says(bind({"s", 0, 8}), "input 'x': Unable to find shared memory region: 's'"));
  EXPECT_TRUE(says(bind({"r", 65, 0}), "Invalid offset for"));
  EXPECT_TRUE(says(bind({"r", 0, 65}), "Invalid offset + byte size"));
  EXPECT_TRUE(says(bind({"r", 60, 8}), "Invalid offset + byte size"));
  EXPECT_TRUE(says(bind({"r", 8, UINT64_MAX - 4}), "Invalid offset + byte size"));
  object.resize(32);
  EXPECT_EQ(bind({"r", 0, 32}), "");
  EXPECT_TRUE(says(bind({"r", 0, 33}), "truncated"));
}

TEST_F(RegionTableTest, ARegionLivesWhileARequestUsesIt) {
  TestObject object(64);
  object.write({5});
  ASSERT_EQ(refusal(object.as("r")), "");
  ASSERT_EQ(bind({"r", 0, 8}), "");
  table_.remove(RegionKind::kSystem, "");
  float value = 0;
  std::memcpy(&value, request_.inputs[0].data.data(), sizeof value);
  EXPECT_EQ(value, 5);
}

TEST_F(RegionTableTest, WhatIsKeptForLaterIsCopied) {
  TestObject object(64);
  object.write({5, 6});
  ASSERT_EQ(refusal(object.as("r")), "");
  ASSERT_EQ(bind({"r", 0, 8}), "");
  auto own = with_own_memory(request_);
  ASSERT_TRUE(own);
  object.write({7, 8});
  EXPECT_FALSE(own->inputs[0].part) << "the region is not held any longer than the request";
  float values[2];
  ASSERT_EQ(own->inputs[0].data.size(), sizeof values);
  std::memcpy(values, own->inputs[0].data.data(), sizeof values);
  EXPECT_EQ(values[0], 5);
  EXPECT_EQ(values[1], 6);
  object.resize(0);
  EXPECT_FALSE(with_own_memory(request_)) << "zeros are not what the client sent";
}

TEST_F(RegionTableTest, StringsAreTheRequestsOwnBeforeTheyAreChecked) {
  TestObject object(64);
  object.write({0, 0});
  ASSERT_EQ(refusal(object.as("r")), "");
  ASSERT_EQ(bind({"r", 0, 8}, DataType::kBytes), "");
  EXPECT_FALSE(request_.inputs[0].part);
  ASSERT_EQ(request_.inputs[0].data.size(), 8u);
  object.write({1, 1});
  EXPECT_EQ(static_cast<int>(request_.inputs[0].data[3]), 0) << "a change comes too late";
}

}  // namespace
}  // namespace ridge::serve
