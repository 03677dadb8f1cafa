#!/bin/sh
# Builds the ramdisk that erases machines and writes images to them: a kernel, an initramfs and the forms in which firmware
# boots them. Everything comes from the packages of the Debian (or Ubuntu) that runs this script; it needs no root.
#
#   deploy/ramdisk/build.sh [OUTPUT]        default: deploy/ramdisk/dist
#
# The same packages give the same bytes: RAMDISK_EPOCH fixes the times, and PACKAGES in the output lists the versions.
set -eu
umask 022
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/dist}
cache=${RAMDISK_CACHE:-$here/.cache}
export SOURCE_DATE_EPOCH="${RAMDISK_EPOCH:-1767225600}" LC_ALL=C TZ=UTC
kernel_package=${RAMDISK_KERNEL:-linux-image-amd64}
packages="busybox-static curl ca-certificates fdisk hdparm nvme-cli systemd-boot-efi grub-pc-bin grub-efi-amd64-bin"
most_mib=${RAMDISK_MOST_MIB:-25}

need() {
  missing=
  for program in apt-get dpkg-deb cpio zstd depmod objcopy xorriso grub-mkimage mformat mcopy mmd; do
    command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
  done
  [ -z "$missing" ] || {
    echo "cannot build the ramdisk: these programs are missing:$missing. As root:" >&2
    echo "  apt-get install --no-install-recommends cpio zstd kmod binutils xorriso grub-common mtools" >&2
    exit 1
  }
}

# Downloads the packages with all that they need, as if nothing were installed. apt checks the signatures.
download() {
  mkdir -p "$cache/archives/partial" "$cache/state"
  : >"$cache/status"
  real=$(apt-cache depends "$kernel_package" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1)
  kernel=${real:-$kernel_package}
  # The kernel's own dependencies (initramfs-tools and so on) belong to an installed system.
  (cd "$cache/archives" && apt-get -q download "$kernel") >/dev/null 2>"$cache/log" || { cat "$cache/log" >&2; exit 1; }
  # shellcheck disable=SC2086
  apt-get -q -y install --download-only --no-install-recommends -o Debug::NoLocking=1 -o "Dir::State::status=$cache/status" \
    -o "Dir::Cache::archives=$cache/archives" -o APT::Sandbox::User=root $packages >"$cache/log" 2>&1 || { cat "$cache/log" >&2; exit 1; }
  # Only the newest version of each package, in case the cache has older ones.
  (cd "$cache/archives" && for deb in *.deb; do
    printf '%s %s %s\n' "$(dpkg-deb -f "$deb" Package)" "$(dpkg-deb -f "$deb" Version)" "$deb"
  done | sort -k1,1 -k2,2V | awk '{ last[$1] = $0 } END { for (name in last) print last[name] }' | sort) >"$cache/list"
}

unpack() {
  rm -rf "$cache/tree"
  mkdir -p "$cache/tree"
  while read -r name version deb; do
    case $name in linux-image-*) [ "$name" = "$kernel" ] || continue ;; esac
    dpkg-deb -x "$cache/archives/$deb" "$cache/tree"
    printf '%s %s %s\n' "$(sha256sum "$cache/archives/$deb" | cut -d' ' -f1)" "$name" "$version"
  done <"$cache/list" >"$out/PACKAGES"
  release=$(ls "$cache/tree/lib/modules")
}

# Copies a program and the libraries that it needs. The loader of the packages lists them, so nothing of this system is used.
program() {
  for from in "$@"; do
    [ -e "$tree$from" ] || { echo "no program $from in the packages" >&2; exit 1; }
    mkdir -p "$root${from%/*}"
    cp -L "$tree$from" "$root$from"
    "$tree/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --library-path "$libraries" --list "$tree$from" |
      sed -n "s|.*=> \($tree/[^ ]*\) .*|\1|p" | while read -r library; do
      mkdir -p "$root/lib/x86_64-linux-gnu"
      cp -L "$library" "$root/lib/x86_64-linux-gnu/${library##*/}"
    done
  done
}

modules() {
  from=$tree/lib/modules/$release
  to=$root/lib/modules/$release
  mkdir -p "$to"
  depmod -b "$tree" "$release"
  # The closure of the listed modules and folders over their dependencies.
  (cd "$from" && while read -r pattern; do
    case $pattern in '' | '#'*) continue ;; esac
    # shellcheck disable=SC2086
    for path in kernel/$pattern; do [ ! -e "$path" ] || find "$path" -name '*.ko'; done
  done <"$here/modules" | sort -u) >"$cache/wanted"
  awk 'NR == FNR { want[$1] = 1; next } { name = $1; sub(":", "", name); if (name in want) { print name; for (i = 2; i <= NF; i++) print $i } }' \
    "$cache/wanted" "$from/modules.dep" | sort -u | while read -r module; do
    mkdir -p "$to/${module%/*}"
    objcopy --strip-debug "$from/$module" "$to/$module"
  done
  cp "$from/modules.order" "$from/modules.builtin" "$from/modules.builtin.modinfo" "$to/"
  depmod -b "$root" "$release"
  # The text forms are enough for busybox.
  rm -f "$to"/modules.*.bin "$to/modules.order" "$to/modules.builtin.modinfo" "$to/modules.devname" "$to/modules.softdep"
}

initramfs() {
  tree=$cache/tree root=$cache/root
  libraries=$tree/lib/x86_64-linux-gnu:$tree/usr/lib/x86_64-linux-gnu
  rm -rf "$root"
  mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/run" "$root/tmp" "$root/mnt" "$root/etc/ssl/certs" \
    "$root/lib64" "$root/usr/share/anneal"
  cp "$tree/bin/busybox" "$root/bin/busybox"
  ln -s busybox "$root/bin/sh"
  for link in sbin usr/bin usr/sbin; do mkdir -p "$root/$link"; done
  program /usr/bin/curl /sbin/sfdisk /sbin/hdparm /usr/sbin/nvme
  cp -L "$tree/lib64/ld-linux-x86-64.so.2" "$root/lib64/"
  # libnss_dns is inside libc since glibc 2.34; older ones load it by name.
  find "$tree/usr/share/ca-certificates/mozilla" -name '*.crt' | sort | while read -r one; do cat "$one"; done >"$root/etc/ssl/certs/ca-certificates.crt"
  printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
  cp "$here/init" "$root/init"
  cp "$here/udhcpc" "$root/usr/share/anneal/udhcpc"
  chmod 755 "$root/init" "$root/usr/share/anneal/udhcpc"
  modules
  find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  (cd "$root" && find . -mindepth 1 | sort | cpio --quiet --reproducible --renumber-inodes -o -H newc -R 0:0) |
    zstd -q "-${RAMDISK_LEVEL:-19}" -T0 >"$out/initrd.img"
  cp "$tree/boot/vmlinuz-$release" "$out/vmlinuz"
}

# The server writes the address of a boot into this area when it sends a form: see manifest. Nothing else ever differs.
parameters() { printf '%-1024s' "anneal.parameters"; }
console='console=tty0 console=ttyS0,115200n8 panic=30'

# One EFI program with kernel, initramfs and parameters, for UEFI HTTP boot.
efi() {
  printf '%s %s' "$console" "$(parameters)" >"$cache/cmdline"
  printf 'PRETTY_NAME="Anneal ramdisk"\nID=anneal\n' >"$cache/os-release"
  objcopy \
    --add-section .osrel="$cache/os-release" --change-section-vma .osrel=0x20000 \
    --add-section .cmdline="$cache/cmdline" --change-section-vma .cmdline=0x30000 \
    --add-section .linux="$out/vmlinuz" --change-section-vma .linux=0x2000000 \
    --add-section .initrd="$out/initrd.img" --change-section-vma .initrd=0x4000000 \
    --preserve-dates "$cache/tree/usr/lib/systemd/boot/efi/linuxx64.efi.stub" "$out/ramdisk.efi"
}

# An ISO for virtual media, which BIOS and UEFI boot from a CD and from a disk.
iso() {
  tree=$cache/tree
  rm -rf "$cache/iso"
  mkdir -p "$cache/iso/anneal"
  cp "$out/vmlinuz" "$out/initrd.img" "$cache/iso/anneal/"
  { printf 'linux /anneal/vmlinuz %s ' "$console"; parameters; printf '\ninitrd /anneal/initrd.img\nboot\n'; } >"$cache/iso/anneal/grub.cfg"
  # Only the normal mode, with its own file, splits a line into words.
  cat >"$cache/early.cfg" <<'END'
search --no-floppy --file --set=root /anneal/grub.cfg
set prefix=($root)/anneal
normal
END
  common="iso9660 part_gpt part_msdos linux normal configfile search search_fs_file echo test"
  # shellcheck disable=SC2086
  grub-mkimage -O i386-pc-eltorito -d "$tree/usr/lib/grub/i386-pc" -p /anneal -c "$cache/early.cfg" \
    -o "$cache/iso/anneal/bios.img" biosdisk $common
  # shellcheck disable=SC2086
  grub-mkimage -O x86_64-efi -d "$tree/usr/lib/grub/x86_64-efi" -p /anneal -c "$cache/early.cfg" \
    -o "$cache/bootx64.efi" fat efi_gop efi_uga all_video $common
  touch -d "@$SOURCE_DATE_EPOCH" "$cache/bootx64.efi"
  rm -f "$cache/iso/anneal/efi.img"
  mformat -C -i "$cache/iso/anneal/efi.img" -f 2880 -N 12345678 ::
  mmd -i "$cache/iso/anneal/efi.img" ::/EFI ::/EFI/BOOT
  mcopy -m -i "$cache/iso/anneal/efi.img" "$cache/bootx64.efi" ::/EFI/BOOT/BOOTX64.EFI
  find "$cache/iso" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  xorriso -as mkisofs -quiet -R -V ANNEAL -o "$out/ramdisk.iso" \
    -b anneal/bios.img -no-emul-boot -boot-load-size 4 -boot-info-table --grub2-boot-info \
    --grub2-mbr "$tree/usr/lib/grub/i386-pc/boot_hybrid.img" \
    -eltorito-alt-boot -e anneal/efi.img -no-emul-boot -isohybrid-gpt-basdat \
    "$cache/iso" >"$cache/log" 2>&1 || { cat "$cache/log" >&2; exit 1; }
}

# Lists each file with its size, checksum and the place of its area for parameters (-1: none).
manifest() {
  (cd "$out" && sha256sum vmlinuz initrd.img ramdisk.efi ramdisk.iso PACKAGES >SHA256SUMS
  printf '{"format":1,"kernel":"%s","files":{' "$release"
  comma=
  for file in vmlinuz initrd.img ramdisk.efi ramdisk.iso; do
    at=$(LC_ALL=C grep -abo 'anneal\.parameters  ' "$file" | head -n 1 | cut -d: -f1)
    printf '%s"%s":{"size":%s,"sha256":"%s","parameters_at":%s,"parameters_size":%s}' "$comma" "$file" \
      "$(stat -c %s "$file")" "$(sha256sum "$file" | cut -d' ' -f1)" "${at:--1}" "${at:+1024}${at:-0}" | sed 's/:1024[0-9]*}$/:1024}/'
    comma=,
  done
  printf '}}\n') >"$cache/manifest.json"
  mv "$cache/manifest.json" "$out/ramdisk.json"
}

# Says on standard error what is done now, and since when.
began=$(date +%s)
say() { echo "ramdisk: $1 ($(($(date +%s) - began)) s)" >&2; }

need
mkdir -p "$out"
rm -f "$out/ramdisk.json"
say "downloading the packages of the kernel and the programs"
download
say "unpacking them"
unpack
say "making the initramfs; its compression takes a minute on two processors, RAMDISK_LEVEL=6 some seconds"
initramfs
say "making the EFI program and the ISO"
efi
iso
manifest
say "done"
size=$(($(stat -c %s "$out/vmlinuz") + $(stat -c %s "$out/initrd.img")))
[ "$size" -le "$((most_mib * 1024 * 1024))" ] || { echo "the ramdisk has $size bytes, more than $most_mib MiB" >&2; exit 1; }
echo "$out: kernel $release, kernel and initramfs $((size / 1024)) KiB"
