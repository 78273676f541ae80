#include "serve/response_cache.h"

#include <gtest/gtest.h>

#include <cstring>

#include "serve/job.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

constexpr uint64_t kAmple = 1 << 20;

JobPtr cached_job(const std::vector<float>& values, std::vector<WantedOutput> wanted = {}) {
  auto job = std::make_unique<Job>();
  job->request = pair_request("m", values);
  job->wanted = std::move(wanted);
  return job;
}

std::vector<ResponseOutput> outputs_of(const std::vector<float>& values) {
  return {{"y", DataType::kFp32, {static_cast<int64_t>(values.size())}, bytes_of(values), nullptr}};
}

std::vector<float> found(ResponseCache& cache, const Job& job, uint64_t owner = 1) {
  const auto outputs = cache.find(cache_key_of(job, owner));
  return outputs ? floats_of(outputs->front().data) : std::vector<float>{};
}

TEST(ResponseCache, AnswersAnEqualRequestAndNoOther) {
  ResponseCache cache(kAmple);
  const std::vector<float> answer = {5, 6};
  {
    const JobPtr first = cached_job({1, 2, 3, 4});
    cache.insert(cache_key_of(*first, 1), outputs_of(answer));
  }
  EXPECT_EQ(found(cache, *cached_job({1, 2, 3, 4})), answer);
  EXPECT_TRUE(found(cache, *cached_job({1, 2, 3, 4}), 2).empty()) << "of another version";
  EXPECT_TRUE(found(cache, *cached_job({1, 2, 3, 5})).empty());
  EXPECT_TRUE(found(cache, *cached_job({1, 2})).empty());
  EXPECT_TRUE(found(cache, *cached_job({1, 2, 3, 4}, {{0, 0, {}}})).empty()) << "of other outputs";
  EXPECT_TRUE(found(cache, *cached_job({1, 2, 3, 4}, {{0, 2, {}}})).empty());
  JobPtr shaped = cached_job({1, 2, 3, 4});
  shaped->request.inputs[0].shape = {1, 4};
  EXPECT_TRUE(found(cache, *shaped).empty());
  shaped->request.inputs[0].shape = {2, 2};
  shaped->request.inputs[0].type = DataType::kInt32;
  EXPECT_TRUE(found(cache, *shaped).empty());
}

TEST(ResponseCache, AnEqualHashIsNoEqualRequest) {
  ResponseCache cache(kAmple);
  const JobPtr a = cached_job({1, 2}), b = cached_job({3, 4});
  const CacheKey key = cache_key_of(*a, 1);
  CacheKey other = cache_key_of(*b, 1);
  other.hash = key.hash;
  const std::vector<float> of_a = {5}, of_b = {6};
  cache.insert(key, outputs_of(of_a));
  EXPECT_FALSE(cache.find(other));
  cache.insert(other, outputs_of(of_b));
  EXPECT_FALSE(cache.find(key)) << "replaced";
  EXPECT_EQ(floats_of(cache.find(other)->front().data), of_b);
}

TEST(ResponseCache, StaysWithinItsBytesAndLosesTheLeastLatelyUsedFirst) {
  const std::vector<float> answer(256, 7);
  ResponseCache one(kAmple);
  one.insert(cache_key_of(*cached_job(std::vector<float>(64, 0)), 1), outputs_of(answer));
  EXPECT_GE(one.bytes(), 256 * 4 + 64 * 4u) << "inputs count too";
  ResponseCache cache(3 * one.bytes());
  const auto insert = [&](float value) {
    cache.insert(cache_key_of(*cached_job(std::vector<float>(64, value)), 1), outputs_of(answer));
    EXPECT_LE(cache.bytes(), 3 * one.bytes());
  };
  const auto has = [&](float value) { return !found(cache, *cached_job(std::vector<float>(64, value))).empty(); };
  for (const float value : {1, 2, 3}) insert(value);
  EXPECT_TRUE(has(1));
  insert(4);
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(2));
  EXPECT_TRUE(has(3));
  EXPECT_TRUE(has(4));
  insert(4);
  EXPECT_EQ(cache.bytes(), 3 * one.bytes()) << "it is there once";
}

TEST(ResponseCache, WhatIsLargerThanItIsNotKept) {
  ResponseCache cache(1000);
  const std::vector<float> answer(1000, 7);
  const JobPtr job = cached_job({1, 2});
  cache.insert(cache_key_of(*job, 1), outputs_of(answer));
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_TRUE(found(cache, *job).empty());
}

TEST(ResponseCache, DropsTheAnswersOfAVersionAndFreesThemWhenTheyAreSent) {
  ResponseCache cache(kAmple);
  const std::vector<float> answer = {5, 6};
  const JobPtr job = cached_job({1, 2});
  const uint64_t old_version = cache.new_owner(), new_version = cache.new_owner();
  cache.insert(cache_key_of(*job, old_version), outputs_of(answer));
  cache.insert(cache_key_of(*job, new_version), outputs_of(answer));
  const auto sending = cache.find(cache_key_of(*job, old_version));
  cache.drop(old_version);
  EXPECT_FALSE(cache.find(cache_key_of(*job, old_version)));
  EXPECT_TRUE(cache.find(cache_key_of(*job, new_version)));
  EXPECT_EQ(floats_of(sending->front().data), answer) << "its memory is still there";
  cache.drop(new_version);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(ResponseCache, RequestsWithSharedMemoryAreNoneOfItsBusiness) {
  EXPECT_TRUE(is_cacheable(*cached_job({1, 2})));
  EXPECT_FALSE(is_cacheable(*cached_job({1, 2}, {{0, 0, SharedMemoryView{"r", 0, 8}}})));
  const JobPtr job = cached_job({1, 2});
  job->request.inputs[0].part = SharedMemoryView{"r", 0, 8};
  EXPECT_FALSE(is_cacheable(*job));
}

}  // namespace
}  // namespace ridge::serve
