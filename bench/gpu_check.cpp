#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <jpeglib.h>
#include <bench/gpu_check.hpp>
#include <cmath>
#include <csetjmp>
#include <cstdio>

namespace framewire::bench {
namespace {

struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  std::string* message;
};

void on_error(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  *manager->message = text;
  std::longjmp(manager->jump, 1);
}

/// Counts warnings without printing them.
void on_emit(j_common_ptr info, int level) {
  if (level < 0) ++info->err->num_warnings;
}

/// Runs `body` on an opened file; errors jump back here and leave `error` set.
template <typename Body>
long with_decoder(std::span<const std::uint8_t> jpeg, std::string& error, Body body) {
  jpeg_decompress_struct info{};
  ErrorManager manager{};
  manager.message = &error;
  info.err = jpeg_std_error(&manager.base);
  manager.base.error_exit = on_error;
  manager.base.emit_message = on_emit;
  manager.base.output_message = [](j_common_ptr) {};
  jpeg_create_decompress(&info);
  if (setjmp(manager.jump) == 0) {
    jpeg_mem_src(&info, jpeg.data(), jpeg.size());
    jpeg_read_header(&info, TRUE);
    body(info);
  }
  const long warnings = manager.base.num_warnings;
  jpeg_destroy_decompress(&info);
  return warnings;
}

}  // namespace

std::vector<CoefficientPlane> read_coefficients(std::span<const std::uint8_t> jpeg,
                                                std::string& error, long& warnings) {
  std::vector<CoefficientPlane> planes;
  warnings = with_decoder(jpeg, error, [&](jpeg_decompress_struct& info) {
    jvirt_barray_ptr* arrays = jpeg_read_coefficients(&info);
    planes.resize(static_cast<std::size_t>(info.num_components));
    for (int c = 0; c < info.num_components; ++c) {
      CoefficientPlane& plane = planes[static_cast<std::size_t>(c)];
      const jpeg_component_info& component = info.comp_info[c];
      plane.width_blocks = component.width_in_blocks;
      plane.height_blocks = component.height_in_blocks;
      for (JDIMENSION y = 0; y < component.height_in_blocks; ++y) {
        JBLOCKARRAY rows = info.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&info),
                                                        arrays[c], y, 1, FALSE);
        const JCOEF* row = rows[0][0];
        plane.blocks.insert(plane.blocks.end(), row, row + component.width_in_blocks * 64);
      }
    }
    jpeg_finish_decompress(&info);
  });
  return planes;
}

std::vector<SamplePlane> read_planes(std::span<const std::uint8_t> jpeg, std::string& error) {
  std::vector<SamplePlane> planes;
  (void)with_decoder(jpeg, error, [&](jpeg_decompress_struct& info) {
    info.raw_data_out = TRUE;
    info.dct_method = JDCT_ISLOW;
    info.do_fancy_upsampling = FALSE;
    jpeg_start_decompress(&info);
    const auto count = static_cast<std::size_t>(info.num_components);
    planes.resize(count);
    std::vector<std::vector<std::uint8_t>> strips(count);
    std::vector<std::vector<JSAMPROW>> rows(count);
    std::vector<JSAMPARRAY> arrays(count);
    for (std::size_t c = 0; c < count; ++c) {
      const jpeg_component_info& component = info.comp_info[c];
      planes[c].width_px = component.downsampled_width;
      planes[c].height_px = component.downsampled_height;
      const std::size_t pitch = component.width_in_blocks * 8 + 64;
      const auto lines = static_cast<std::size_t>(component.v_samp_factor) * 8;
      strips[c].resize(pitch * lines);
      for (std::size_t y = 0; y < lines; ++y) rows[c].push_back(&strips[c][y * pitch]);
      arrays[c] = rows[c].data();
    }
    while (info.output_scanline < info.output_height) {
      jpeg_read_raw_data(&info, arrays.data(), static_cast<JDIMENSION>(info.max_v_samp_factor * 8));
      for (std::size_t c = 0; c < count; ++c) {
        for (JSAMPROW row : rows[c]) {
          if (planes[c].samples.size() <
              static_cast<std::size_t>(planes[c].width_px) * planes[c].height_px) {
            planes[c].samples.insert(planes[c].samples.end(), row, row + planes[c].width_px);
          }
        }
      }
    }
    jpeg_finish_decompress(&info);
  });
  return planes;
}

std::string compare_coefficients(const codec::cuda::Transcoder& transcoder, std::size_t image,
                                 std::size_t component, const CoefficientPlane& expected) {
  const codec::cuda::PlaneDesc plane = transcoder.decoded_plane(image, component);
  if (plane.width_blocks != expected.width_blocks ||
      plane.height_blocks != expected.height_blocks) {
    return fmt::format("{}x{} blocks, libjpeg has {}x{}", plane.width_blocks, plane.height_blocks,
                       expected.width_blocks, expected.height_blocks);
  }
  const std::uint32_t n = plane.stored_corner;
  const std::size_t mcu_rows = (plane.height_blocks + plane.v - 1) / plane.v;
  const std::size_t blocks = mcu_rows * plane.mcu_columns * plane.blocks_per_mcu;
  std::vector<std::int16_t> corners(blocks / plane.blocks_per_mcu * plane.mcu_bytes / 2);
  (void)cudaMemcpy(corners.data(), plane.coefficients, corners.size() * 2, cudaMemcpyDeviceToHost);
  // One of both is there.
  std::vector<std::uint32_t> words(blocks);
  std::vector<std::int16_t> dc(blocks);
  codec::cuda::PlaneDesc on_host = plane;
  if (plane.block_words != nullptr) {
    (void)cudaMemcpy(words.data(), plane.block_words, blocks * 4, cudaMemcpyDeviceToHost);
    on_host.block_words = words.data();
  } else {
    (void)cudaMemcpy(dc.data(), plane.dc, blocks * 2, cudaMemcpyDeviceToHost);
    on_host.dc = dc.data();
  }
  const std::size_t edge_mcus =
      plane.right_edge * mcu_rows + plane.bottom_edge * std::size_t{plane.mcu_columns};
  std::vector<std::int16_t> edges(n == 8 ? 0 : edge_mcus * plane.blocks_per_mcu * 64);
  (void)cudaMemcpy(edges.data(), plane.edges, edges.size() * 2, cudaMemcpyDeviceToHost);
  for (std::uint32_t y = 0; y < plane.height_blocks; ++y) {
    for (std::uint32_t x = 0; x < plane.width_blocks; ++x) {
      const std::size_t block =
          (static_cast<std::size_t>(y / plane.v) * plane.mcu_columns + x / plane.h) *
              plane.blocks_per_mcu +
          plane.phase + y % plane.v * plane.h + x % plane.h;
      const std::int16_t* want =
          &expected.blocks[(static_cast<std::size_t>(y) * plane.width_blocks + x) * 64];
      // Blocks that the picture fills in part are read from where they are kept whole.
      const bool whole = n != 8 && ((x + 1 == plane.width_blocks && plane.valid_x != 8) ||
                                    (y + 1 == plane.height_blocks && plane.valid_y != 8));
      const std::size_t edge =
          whole ? codec::cuda::edge_slot(plane.right_edge, plane.mcu_columns,
                                         static_cast<std::uint32_t>(mcu_rows), plane.blocks_per_mcu,
                                         x / plane.h, y / plane.v,
                                         static_cast<std::uint32_t>(block % plane.blocks_per_mcu))
                : 0;
      const codec::cuda::StoredBlock kept =
          codec::cuda::stored_block(on_host, static_cast<std::uint32_t>(block));
      const std::int16_t* const corner =
          &corners[(block / plane.blocks_per_mcu * plane.mcu_bytes + plane.phase_bytes) / 2 +
                   (block % plane.blocks_per_mcu - plane.phase) * n * n];
      for (std::uint32_t k = 0; k < n * n; ++k) {
        const bool stored = (kept.row_pairs >> (k / n / 2) & 1) != 0;
        const std::int16_t got = k == 0   ? static_cast<std::int16_t>(kept.dc)
                                 : whole  ? edges[edge * 64 + k / n * 8 + k % n]
                                 : stored ? corner[k]
                                          : std::int16_t{0};
        if (got != want[k / n * 8 + k % n]) {
          return fmt::format("block {},{} coefficient {},{}: {} instead of {}", x, y, k % n, k / n,
                             got, want[k / n * 8 + k % n]);
        }
      }
    }
  }
  return {};
}

double psnr(const SamplePlane& a, const SamplePlane& b) {
  if (a.width_px != b.width_px || a.height_px != b.height_px) return -1;
  double sum = 0;
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    const double d = static_cast<double>(a.samples[i]) - b.samples[i];
    sum += d * d;
  }
  const double mse = sum / static_cast<double>(a.samples.size());
  return mse == 0 ? 99 : 10 * std::log10(255.0 * 255.0 / mse);
}

}  // namespace framewire::bench
