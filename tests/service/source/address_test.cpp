#include <gtest/gtest.h>
#include <service/source/address.hpp>

namespace framewire::service::source {
namespace {

struct Row {
  const char* address;
  AddressClass meaning;
};

using enum AddressClass;

// The first and the last address of each range, and those beside it.
constexpr Row kAddresses[] = {
    {"0.0.0.0", kUnspecified},
    {"0.255.255.255", kUnspecified},
    {"1.0.0.0", kPublic},
    {"8.8.8.8", kPublic},
    {"9.255.255.255", kPublic},
    {"10.0.0.0", kPrivate},
    {"10.255.255.255", kPrivate},
    {"11.0.0.0", kPublic},
    {"100.63.255.255", kPublic},
    {"100.64.0.0", kPrivate},
    {"100.127.255.255", kPrivate},
    {"100.128.0.0", kPublic},
    {"126.255.255.255", kPublic},
    {"127.0.0.0", kLoopback},
    {"127.0.0.1", kLoopback},
    {"127.255.255.255", kLoopback},
    {"128.0.0.0", kPublic},
    {"169.253.255.255", kPublic},
    {"169.254.0.0", kLinkLocal},
    {"169.254.169.254", kLinkLocal},
    {"169.254.255.255", kLinkLocal},
    {"169.255.0.0", kPublic},
    {"172.15.255.255", kPublic},
    {"172.16.0.0", kPrivate},
    {"172.31.255.255", kPrivate},
    {"172.32.0.0", kPublic},
    {"191.255.255.255", kPublic},
    {"192.0.0.0", kReserved},
    {"192.0.0.255", kReserved},
    {"192.0.1.0", kPublic},
    {"192.0.2.0", kReserved},
    {"192.0.3.0", kPublic},
    {"192.88.98.255", kPublic},
    {"192.88.99.1", kReserved},
    {"192.88.100.0", kPublic},
    {"192.167.255.255", kPublic},
    {"192.168.0.0", kPrivate},
    {"192.168.255.255", kPrivate},
    {"192.169.0.0", kPublic},
    {"198.17.255.255", kPublic},
    {"198.18.0.0", kReserved},
    {"198.19.255.255", kReserved},
    {"198.20.0.0", kPublic},
    {"198.51.100.7", kReserved},
    {"198.51.101.0", kPublic},
    {"203.0.113.255", kReserved},
    {"203.0.114.0", kPublic},
    {"223.255.255.255", kPublic},
    {"224.0.0.0", kMulticast},
    {"239.255.255.255", kMulticast},
    {"240.0.0.0", kReserved},
    {"255.255.255.254", kReserved},
    {"255.255.255.255", kMulticast},

    {"::", kUnspecified},
    {"::1", kLoopback},
    {"::2", kUnspecified},  // 0.0.0.2, IPv4-compatible
    {"::127.0.0.1", kLoopback},
    {"::8.8.8.8", kPublic},
    {"::ffff:127.0.0.1", kLoopback},
    {"::ffff:169.254.169.254", kLinkLocal},
    {"::ffff:10.1.2.3", kPrivate},
    {"::ffff:0.0.0.0", kUnspecified},
    {"::ffff:8.8.8.8", kPublic},
    {"::ffff:0:127.0.0.1", kReserved},  // SIIT's old form: no such addresses are dialled
    {"64:ff9b::127.0.0.1", kLoopback},
    {"64:ff9b::192.168.1.1", kPrivate},
    {"64:ff9b::8.8.8.8", kPublic},
    {"64:ff9b:0:0:0:1:8.8.8.8", kReserved},
    {"64:ff9b:1::8.8.8.8", kReserved},
    {"64:ff9b:1:7f00:0:100::", kReserved},
    {"100::1", kReserved},  // discard
    {"2002:7f00:1::", kLoopback},
    {"2002:a9fe:a9fe::1", kLinkLocal},
    {"2002:808:808::1", kPublic},
    {"2001:0:808:808::80ff:fffe", kLoopback},  // Teredo's client is 127.0.0.1
    {"2001:0:7f00:1::f7f7:f7f7", kLoopback},   // its server is
    {"2001:0:808:808::f7f7:f7f7", kPublic},
    {"2001:1::1", kReserved},
    {"2001:20::1", kReserved},
    {"2001:1ff:ffff::", kReserved},
    {"2001:200::1", kPublic},
    {"2001:db8::1", kReserved},
    {"2001:db8::5efe:7f00:1", kReserved},
    {"2a00::5efe:127.0.0.1", kLoopback},  // ISATAP
    {"2a00::200:5efe:10.0.0.1", kPrivate},
    {"2a00::5efe:8.8.8.8", kPublic},
    {"2001:4860:4860::8888", kPublic},
    {"2606:4700::1111", kPublic},
    {"3ffe:ffff::1", kPublic},
    {"3fff:0fff::1", kReserved},
    {"3fff:1000::1", kPublic},
    {"4000::1", kReserved},
    {"5f00::1", kReserved},
    {"fbff::1", kReserved},
    {"fc00::1", kPrivate},
    {"fdff::1", kPrivate},
    {"fe00::1", kReserved},
    {"fe80::1", kLinkLocal},
    {"febf::1", kLinkLocal},
    {"fec0::1", kReserved},
    {"ff00::1", kMulticast},
    {"ff02::1", kMulticast},
};

TEST(SourceAddress, EveryRangeAndWhatLiesBesideIt) {
  for (const Row& row : kAddresses) {
    const auto address = parse_address(row.address);
    ASSERT_TRUE(address) << row.address;
    EXPECT_EQ(classify(*address), row.meaning) << row.address;
  }
}

TEST(SourceAddress, OnePermissionDoesNotGiveAnother) {
  for (const Row& row : kAddresses) {
    const IpAddress address = parse_address(row.address).value();
    EXPECT_EQ(permits({}, address), row.meaning == kPublic) << row.address;
    EXPECT_EQ(permits({.allow_loopback = true}, address),
              row.meaning == kPublic || row.meaning == kLoopback)
        << row.address;
    EXPECT_EQ(permits({.allow_link_local = true}, address),
              row.meaning == kPublic || row.meaning == kLinkLocal)
        << row.address;
    EXPECT_EQ(permits({.allow_private = true}, address),
              row.meaning == kPublic || row.meaning == kPrivate)
        << row.address;
  }
}

TEST(SourceAddress, EveryIpv4AddressIsJudgedAlikeInEveryWrapping) {
  // One of each /16, with an odd end.
  for (unsigned high = 0; high < 65'536; ++high) {
    IpAddress plain;
    plain.bytes = {static_cast<std::uint8_t>(high >> 8U), static_cast<std::uint8_t>(high), 2, 7};
    const AddressClass meaning = classify(plain);
    const auto b = plain.bytes;
    IpAddress mapped{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, b[0], b[1], b[2], b[3]}, true};
    IpAddress nat64{{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, b[0], b[1], b[2], b[3]}, true};
    IpAddress six_to_four{{0x20, 2, b[0], b[1], b[2], b[3], 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, true};
    IpAddress isatap{{0x2a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x5e, 0xfe, b[0], b[1], b[2], b[3]}, true};
    for (const IpAddress& wrapped : {mapped, nat64, six_to_four, isatap}) {
      ASSERT_EQ(classify(wrapped), meaning) << to_string(wrapped);
    }
  }
}

TEST(SourceAddress, OnlyOrdinaryFormsAreRead) {
  for (const char* text : {"127.1", "0x7f.0.0.1", "127.000.000.001", "2130706433", "1.2.3.4.5",
                           "fe80::1%lo", "[::1]", " 1.2.3.4", "1.2.3.4 ", "", "::1::"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
  EXPECT_FALSE(parse_address(std::string_view("1.2.3.4\0", 8)));
}

TEST(SourceAddress, RefusalsSayWhyAndWhatWouldBeAccepted) {
  const std::pair<const char*, const char*> rows[] = {
      {"127.0.0.1", "127.0.0.1 is of this machine; accepted with --allow-loopback"},
      {"::1", "::1 is of this machine; accepted with --allow-loopback"},
      {"10.1.2.3", "10.1.2.3 is of a private network; accepted with --allow-private"},
      {"169.254.169.254", "169.254.169.254 is link-local; accepted with --allow-link-local"},
      {"224.0.0.1", "224.0.0.1 is of a group (multicast); never accepted"},
      {"0.0.0.0", "0.0.0.0 is no host's; never accepted"},
      {"192.0.2.1", "192.0.2.1 is reserved; never accepted"},
  };
  for (const auto& [address, told] : rows) {
    EXPECT_EQ(describe_refusal(parse_address(address).value()), told);
  }
}

}  // namespace
}  // namespace framewire::service::source
