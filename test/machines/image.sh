#!/bin/sh
# Makes the image of a whole disk with a small system of Debian's kernel and busybox: GPT, BIOS and UEFI boot, a root file
# system that it writes to. Uses what the build of the ramdisk left. image.sh RAMDISK CACHE OUTPUT
set -eu
ramdisk=$1 cache=$2 out=$3
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$cache/tree
# The partitions in sectors: GRUB for BIOS, the EFI system partition, the root.
bios=2048 esp=4096 esp_size=69632 root=73728 root_size=77824
size=$(((root + root_size + 2048) * 512))

# The initramfs of the ramdisk with another init: it mounts the root.
mkdir "$work/over"
cat >"$work/over/init" <<'END'
#!/bin/sh
export PATH=/sbin:/usr/sbin:/bin:/usr/bin
/bin/busybox mkdir -p /sbin /usr/sbin /usr/bin
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for round in 1 2 3; do
  find /sys/devices -name modalias -exec cat {} + 2>/dev/null | sort -u | xargs -r -n 64 modprobe -a -q 2>/dev/null
done
modprobe -a -q ext4 af_packet vfat nls_cp437 nls_ascii nls_iso8859-1 2>/dev/null
until device=$(findfs LABEL=anneal-root 2>/dev/null); do sleep 0.2; done
mount -t ext4 "$device" /mnt
for folder in proc sys dev; do mount --move /$folder /mnt/$folder; done
exec switch_root /mnt /sbin/init
END
chmod 755 "$work/over/init"
{ cat "$ramdisk/initrd.img"; (cd "$work/over" && echo init | cpio --quiet -o -H newc -R 0:0) | zstd -q; } >"$work/initrd.img"

mkdir -p "$work/root"
cp -a "$cache/root/." "$work/root/"
rm -rf "$work/root/init" "$work/root/sbin" "$work/root/lib/modules"
mkdir -p "$work/root/sbin" "$work/root/var" "$work/root/media" "$work/root/usr/local/bin" "$work/root/tmp"
cat >"$work/root/sbin/init" <<'END'
#!/bin/sh
export PATH=/usr/local/bin:/sbin:/usr/sbin:/bin:/usr/bin HOME=/root
/bin/busybox --install -s
mkdir -p /root
rm -rf /run/* /etc/resolv.conf
ip link set lo up
for path in /sys/class/net/*; do
  [ ! -e "$path/device" ] || udhcpc -q -i "${path##*/}" -s /usr/share/anneal/udhcpc >/dev/null 2>&1
done
echo "booted from the disk" >/dev/kmsg
# What cloud-init does: it finds the config drive by its label.
if drive=$(findfs LABEL=config-2); then
  mount -t vfat -o ro "$drive" /media
  hostname "$(cat /media/anneal/hostname)"
  sh /media/anneal/install.sh >/dev/kmsg 2>&1
fi
while :; do sleep 3600 & wait "$!"; done
END
chmod 755 "$work/root/sbin/init"
truncate -s "$((root_size * 512))" "$work/root.img"
mkfs.ext4 -q -F -L anneal-root -d "$work/root" "$work/root.img"

modules="part_gpt fat linux normal configfile search search_fs_file"
printf 'search --no-floppy --file --set=root /anneal-image.cfg\nset prefix=($root)/\nconfigfile /anneal-image.cfg\n' >"$work/early.cfg"
printf 'linux /vmlinuz console=ttyS0,115200n8 panic=10\ninitrd /initrd.img\nboot\n' >"$work/anneal-image.cfg"
# shellcheck disable=SC2086
grub-mkimage -O i386-pc -d "$tree/usr/lib/grub/i386-pc" -p / -c "$work/early.cfg" -o "$work/core.img" biosdisk $modules
# shellcheck disable=SC2086
grub-mkimage -O x86_64-efi -d "$tree/usr/lib/grub/x86_64-efi" -p / -c "$work/early.cfg" -o "$work/bootx64.efi" $modules
truncate -s "$((esp_size * 512))" "$work/esp.img"
mformat -i "$work/esp.img" ::
mmd -i "$work/esp.img" ::/EFI ::/EFI/BOOT
mcopy -i "$work/esp.img" "$work/bootx64.efi" ::/EFI/BOOT/BOOTX64.EFI
mcopy -i "$work/esp.img" "$ramdisk/vmlinuz" "$work/initrd.img" "$work/anneal-image.cfg" ::/

rm -f "$out"
truncate -s "$size" "$out"
/sbin/sfdisk --quiet "$out" <<END
label: gpt
start=$bios, size=2048, type=21686148-6449-6E6F-744E-656564454649
start=$esp, size=$esp_size, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B
start=$root, size=$root_size, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4
END
little_endian() { number=$1; for byte in 0 1 2 3 4 5 6 7; do printf "\\$(printf %03o "$((number >> (8 * byte) & 255))")"; done; }
# What grub-install does: the boot code names the first sector of GRUB, whose end names the second.
dd if="$tree/usr/lib/grub/i386-pc/boot.img" of="$out" bs=440 count=1 conv=notrunc status=none
little_endian "$bios" | dd of="$out" bs=1 seek=92 conv=notrunc status=none
dd if="$work/core.img" of="$out" bs=512 seek="$bios" conv=notrunc status=none
little_endian "$((bios + 1))" | dd of="$out" bs=1 seek="$((bios * 512 + 500))" conv=notrunc status=none
dd if="$work/esp.img" of="$out" bs=512 seek="$esp" conv=notrunc,sparse status=none
dd if="$work/root.img" of="$out" bs=512 seek="$root" conv=notrunc,sparse status=none
