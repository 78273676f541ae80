#include "front/trace_context.h"

#include <gtest/gtest.h>

namespace ridge::front {
namespace {

TEST(TraceContext, ReadsTheFieldsOfTheStandardsExample) {
  const auto context = parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(context->span_id, "00f067aa0ba902b7");
  EXPECT_TRUE(context->sampled);
  EXPECT_FALSE(parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02")->sampled);
  EXPECT_TRUE(parse_traceparent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0b-more")->sampled);
}

TEST(TraceContext, WhatIsNotValidCountsAsNotSent) {
  for (const char* field : {"", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more"})
    EXPECT_FALSE(parse_traceparent(field)) << field;
}

}  // namespace
}  // namespace ridge::front
