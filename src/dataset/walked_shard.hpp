// A shard that is read from its beginning to its end, once, whoever walks through its headers.
#pragma once

#include <openssl/types.h>
#include <cstdint>
#include <dataset/shard_input.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <string>
#include <vector>

namespace framewire::dataset {

/// Reads a shard ahead of who walks through it, and computes the MD5 of all its bytes on the way:
/// what lies between two reads is read then. One thread.
class WalkedShard final : public tar::BytesAt {
 public:
  /// @param shard   lives as long as this
  /// @param digest  whether md5() is wanted; otherwise only what is asked for is read
  WalkedShard(ShardInput& shard, bool digest);
  ~WalkedShard() override;

  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset,
                                            std::span<std::uint8_t> into) override;
  /// Reads the rest. Once. @return MD5 of all bytes, in hexadecimal; what read_at() says; internal
  /// where this OpenSSL has no MD5
  [[nodiscard]] Result<std::string> md5();

 private:
  struct FreeDigest {
    void operator()(EVP_MD_CTX* digest) const noexcept;
  };
  /// @param end  offset up to which all bytes are to be in the digest
  [[nodiscard]] Result<void> read_up_to(std::uint64_t end);

  ShardInput& shard_;
  std::unique_ptr<EVP_MD_CTX, FreeDigest> digest_;  ///< null: none is wanted
  bool refused_ = false;                            ///< by OpenSSL
  std::uint64_t done_ = 0;                          ///< bytes in the digest
  std::vector<std::uint8_t> piece_;
};

}  // namespace framewire::dataset
