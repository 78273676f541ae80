#include "app/trace_export.h"

#include <gtest/gtest.h>

namespace ridge::app {
namespace {

TEST(TraceConfig, IsReadAsTritons) {
  const auto config =
      parse_trace_config({"mode=opentelemetry", "opentelemetry,url=http://[::1]:4400/custom/v1/traces", "rate=10",
                          "level=TIMESTAMPS", "count=5", "opentelemetry,resource=service.name=a=b",
                          "opentelemetry,bsp_schedule_delay=250", "opentelemetry,bsp_max_queue_size=7"});
  ASSERT_TRUE(config) << config.error().message;
  const TraceConfig& found = **config;
  EXPECT_EQ(found.target.url.host, "::1");
  EXPECT_EQ(found.target.url.port, 4400);
  EXPECT_EQ(found.target.path, "/custom/v1/traces");
  EXPECT_TRUE(found.options.on);
  EXPECT_EQ(found.options.rate, 10u);
  EXPECT_EQ(found.options.count, 5);
  EXPECT_EQ(found.options.resource.at("service.name"), "a=b");
  EXPECT_EQ(found.options.send_period, std::chrono::milliseconds(250));
  EXPECT_EQ(found.options.most_waiting, 7u);
}

TEST(TraceConfig, WithoutAUrlIsTheCollectorOfThisMachine) {
  const auto config = parse_trace_config({"rate=1"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)->target.url.host, "localhost");
  EXPECT_EQ((*config)->target.url.port, 4318);
  EXPECT_EQ((*config)->target.path, "/v1/traces");
  EXPECT_FALSE((*config)->options.on);
  const auto none = parse_trace_config({});
  EXPECT_TRUE(none && !*none);
}

TEST(TraceConfig, WhatIsNotThereIsRefusedByName) {
  for (const char* value : {"triton,file=/tmp/x", "mode=triton", "rate=0", "rate=x", "count=-2", "level=TENSORS",
                            "url=http://a", "rate", "opentelemetry,rate=1", "opentelemetry,url=https://a:4318",
                            "opentelemetry,url=http://:1", "opentelemetry,resource=x", ""}) {
    const auto config = parse_trace_config({value});
    ASSERT_FALSE(config) << value;
    EXPECT_EQ(config.error().code, Code::kInvalid) << value;
    EXPECT_NE(config.error().message.find(std::string("--trace-config ") + value), std::string::npos);
  }
}

}  // namespace
}  // namespace ridge::app
