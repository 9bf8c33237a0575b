// Addresses, greetings and failures of rdma_cm.
#include "verbs/cm_words.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace godwit::verbs {
namespace {

constexpr Gid v4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 2};
constexpr Gid v6{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

TEST(CmWords, MappedAddressesAreIPv4) {
  const sockaddr_storage storage = socket_address({v4, 4711});
  ASSERT_EQ(storage.ss_family, AF_INET);
  sockaddr_in address{};
  std::memcpy(&address, &storage, sizeof address);
  EXPECT_EQ(ntohs(address.sin_port), 4711);
  EXPECT_EQ(ntohl(address.sin_addr.s_addr), 0x0a090002U);
  EXPECT_EQ(to_text(CmAddress{v4, 4711}), "10.9.0.2:4711");
}

TEST(CmWords, OthersAreIPv6) {
  const sockaddr_storage storage = socket_address({v6, 1});
  ASSERT_EQ(storage.ss_family, AF_INET6);
  sockaddr_in6 address{};
  std::memcpy(&address, &storage, sizeof address);
  EXPECT_EQ(std::memcmp(&address.sin6_addr, v6.data(), v6.size()), 0);
  EXPECT_EQ(to_text(CmAddress{v6, 1}), "[fd00::1]:1");
}

TEST(CmWords, GreetingsMayBePaddedButNotShortOrOfAnotherVersion) {
  CmGreeting greeting;
  greeting.job = 7;
  greeting.token = 8;
  greeting.from = 1;
  std::vector<std::byte> bytes(56);  // as InfiniBand hands it over
  std::memcpy(bytes.data(), &greeting, sizeof greeting);
  const auto read = read_greeting(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->job, 7U);
  EXPECT_EQ(read->token, 8U);
  EXPECT_EQ(read->from, 1);
  EXPECT_FALSE(read_greeting(std::span(bytes).first(sizeof greeting - 1)));
  EXPECT_FALSE(read_greeting({}));
  greeting.version = protocol_version + 1;
  std::memcpy(bytes.data(), &greeting, sizeof greeting);
  EXPECT_FALSE(read_greeting(bytes));
}

TEST(CmWords, FailuresNameBothEndsTheCauseAndWhatToCheck) {
  const auto words = [](rdma_cm_event_type event, int status) { return explain(event, status, "siw0:1", "rank 3"); };
  for (const rdma_cm_event_type event :
       {RDMA_CM_EVENT_ADDR_ERROR, RDMA_CM_EVENT_ROUTE_ERROR, RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_REJECTED,
        RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_DEVICE_REMOVAL, RDMA_CM_EVENT_DISCONNECTED}) {
    const std::string text = words(event, 0);
    for (const char* part : {"siw0:1", "rank 3", "Check: "}) EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_NE(words(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT).find(std::strerror(ETIMEDOUT)), std::string::npos);
  EXPECT_NE(words(RDMA_CM_EVENT_REJECTED, -ECONNREFUSED).find(std::strerror(ECONNREFUSED)), std::string::npos);
  EXPECT_NE(words(RDMA_CM_EVENT_REJECTED, 8).find("nobody listens"), std::string::npos);
  EXPECT_NE(words(RDMA_CM_EVENT_REJECTED, 28).find("refused by Godwit"), std::string::npos);
  EXPECT_NE(words(RDMA_CM_EVENT_DISCONNECTED, 0).find("address or key"), std::string::npos);
}

}  // namespace
}  // namespace godwit::verbs
