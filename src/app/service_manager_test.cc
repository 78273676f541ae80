#include "app/service_manager.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/temporary_folder.h"

namespace ridge::app {
namespace {

constexpr int kPid = 4711, kFirst = 200;

// Descriptors from number kFirst on, as a service manager passes them.
void pass_sockets(int count) {
  for (int i = 0; i < count; ++i) {
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(dup2(socket.number(), kFirst + i), kFirst + i);
  }
}

TEST(ServiceManager, TakesTheSocketsByTheirNames) {
  pass_sockets(2);
  const auto manager =
      ServiceManager::of({.listen_pid = "4711", .listen_fds = "2", .listen_fdnames = "grpc:http"}, kPid, kFirst);
  ASSERT_TRUE(manager) << manager.error().message;
  const auto http = (*manager)->take_socket("http");
  ASSERT_TRUE(http);
  EXPECT_EQ(http->number(), kFirst + 1);
  EXPECT_EQ(fcntl(http->number(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_FALSE((*manager)->take_socket("http"));
  EXPECT_FALSE((*manager)->take_socket("metrics"));
  EXPECT_TRUE((*manager)->has_socket("grpc"));
}

TEST(ServiceManager, SocketsOfAnotherProcessAreNotTaken) {
  const auto manager =
      ServiceManager::of({.listen_pid = "4712", .listen_fds = "1", .listen_fdnames = "http"}, kPid, kFirst);
  ASSERT_TRUE(manager);
  EXPECT_FALSE((*manager)->take_socket("http"));
}

TEST(ServiceManager, RefusesNamesThatItDoesNotKnowOrThatTwoSocketsHave) {
  for (const char* names : {"http:ridge.socket", "http:http", "http", ""}) {
    pass_sockets(2);
    const auto manager =
        ServiceManager::of({.listen_pid = "4711", .listen_fds = "2", .listen_fdnames = names}, kPid, kFirst);
    ASSERT_FALSE(manager) << names;
    EXPECT_EQ(manager.error().code, Code::kInvalid);
  }
}

TEST(ServiceManager, WatchdogIsOfThisProcessOnly) {
  auto watchdog = [](const ServiceEnvironment& environment) {
    return (*ServiceManager::of(environment, kPid, kFirst))->watchdog();
  };
  EXPECT_EQ(watchdog({.watchdog_usec = "1500000"}), std::chrono::milliseconds(1500));
  EXPECT_EQ(watchdog({.watchdog_usec = "1500000", .watchdog_pid = "4711"}), std::chrono::milliseconds(1500));
  EXPECT_FALSE(watchdog({.watchdog_usec = "1500000", .watchdog_pid = "1"}));
  EXPECT_FALSE(watchdog({.watchdog_usec = "often"}));
  EXPECT_FALSE(watchdog({}));
}

// A datagram socket with an address, as systemd's.
std::string heard_at(const std::string& address) {
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  std::memcpy(own.sun_path, address.data(), address.size());
  if (address[0] == '@') own.sun_path[0] = '\0';
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&own), size) != 0) return "not bound";
  (*ServiceManager::of({.notify_socket = address}, kPid, kFirst))->notify("READY=1\nSTATUS=2 models");
  std::string message(256, '\0');
  message.resize(static_cast<size_t>(std::max<ssize_t>(0, recv(socket.number(), message.data(), 256, MSG_DONTWAIT))));
  return message;
}

TEST(ServiceManager, NotifiesAPathAndAnAbstractName) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  EXPECT_EQ(heard_at(folder->path() + "/notify"), "READY=1\nSTATUS=2 models");
  EXPECT_EQ(heard_at("@ridge-test-" + std::to_string(getpid())), "READY=1\nSTATUS=2 models");
  (*ServiceManager::of({}, kPid, kFirst))->notify("READY=1");  // has no receiver, and does not fail
}

}  // namespace
}  // namespace ridge::app
