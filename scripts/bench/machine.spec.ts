import { expect } from 'chai';
import { fileSystemIn } from './machine.ts';

describe('the facts of the machine', () => {
  it('include the file system that contains the folder, not one with a similar name', () => {
    const mounts = ['overlay / overlay rw 0 0', 'tmpfs /tmp tmpfs rw 0 0', '/dev/a /tmp/log xfs rw 0 0', ''];
    const of = (folder: string) => fileSystemIn(mounts.join('\n'), folder);
    expect(of('/tmp/log/x')).to.equal('xfs');
    expect(of('/tmp/logs')).to.equal('tmpfs');
    expect(of('/home')).to.equal('overlay');
    expect(of('/tmp/log')).to.equal('xfs');
  });

  it('name the file system mounted last where several are mounted on one folder', () => {
    expect(fileSystemIn('a /data ext4 rw 0 0\nb /data zfs rw 0 0', '/data/log')).to.equal('zfs');
  });
});
